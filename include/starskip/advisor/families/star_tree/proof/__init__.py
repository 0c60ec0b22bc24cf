"""Proofs of star-trees: queries answered from trees and by scans."""
