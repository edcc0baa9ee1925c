"""What the kernels compute, said slowly: the definitions that tests hold them to."""
