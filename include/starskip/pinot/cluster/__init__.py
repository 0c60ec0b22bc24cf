"""A live Pinot over HTTP: the controller's REST and the brokers' SQL, of versions 0.11 to 1.6."""
