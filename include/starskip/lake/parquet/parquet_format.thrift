// The structs of the Apache Parquet format that pages of a column are found by, and that a footer of a file of
// one column needs. Field numbers and types are the format's; statistics and indexes of values are left out,
// and names are binary since they need not be UTF-8.

struct Empty {}

union TimeUnit {
  1: optional Empty millis
  2: optional Empty micros
  3: optional Empty nanos
}

struct DecimalType {
  1: required i32 scale
  2: required i32 precision
}

struct TimeType {
  1: required bool is_adjusted_to_utc
  2: required TimeUnit unit
}

struct IntType {
  1: required byte bit_width
  2: required bool is_signed
}

struct VariantType {
  1: optional byte specification_version
}

struct GeometryType {
  1: optional binary crs
}

struct GeographyType {
  1: optional binary crs
  2: optional i32 algorithm
}

union LogicalType {
  1: optional Empty string_type
  2: optional Empty map_type
  3: optional Empty list_type
  4: optional Empty enum_type
  5: optional DecimalType decimal_type
  6: optional Empty date_type
  7: optional TimeType time_type
  8: optional TimeType timestamp_type
  10: optional IntType integer_type
  11: optional Empty unknown_type
  12: optional Empty json_type
  13: optional Empty bson_type
  14: optional Empty uuid_type
  15: optional Empty float16_type
  16: optional VariantType variant_type
  17: optional GeometryType geometry_type
  18: optional GeographyType geography_type
}

struct SchemaElement {
  1: optional i32 type
  2: optional i32 type_length
  3: optional i32 repetition_type
  4: required binary name
  5: optional i32 num_children
  6: optional i32 converted_type
  7: optional i32 scale
  8: optional i32 precision
  9: optional i32 field_id
  10: optional LogicalType logical_type
}

struct ColumnMetaData {
  1: required i32 type
  2: required list<i32> encodings
  3: required list<binary> path_in_schema
  4: required i32 codec
  5: required i64 num_values
  6: required i64 total_uncompressed_size
  7: required i64 total_compressed_size
  9: required i64 data_page_offset
  11: optional i64 dictionary_page_offset
}

struct ColumnChunk {
  1: optional binary file_path
  2: required i64 file_offset
  3: optional ColumnMetaData meta_data
  4: optional i64 offset_index_offset
  5: optional i32 offset_index_length
  8: optional Empty crypto_metadata
}

struct RowGroup {
  1: required list<ColumnChunk> columns
  2: required i64 total_byte_size
  3: required i64 num_rows
}

struct KeyValue {
  1: required binary key
  2: optional binary value
}

struct FileMetaData {
  1: required i32 version
  2: required list<SchemaElement> schema
  3: required i64 num_rows
  4: required list<RowGroup> row_groups
  5: optional list<KeyValue> key_value_metadata
  6: optional binary created_by
}

struct PageLocation {
  1: required i64 offset
  2: required i32 compressed_page_size
  3: required i64 first_row_index
}

struct OffsetIndex {
  1: required list<PageLocation> page_locations
}

struct DataPageHeader {
  1: required i32 num_values
  2: required i32 encoding
}

struct DataPageHeaderV2 {
  4: required i32 encoding
}

struct PageHeader {
  1: required i32 type
  5: optional DataPageHeader data_page_header
  8: optional DataPageHeaderV2 data_page_header_v2
}
