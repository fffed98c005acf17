library(testthat)
library(riata)

test_check("riata")
