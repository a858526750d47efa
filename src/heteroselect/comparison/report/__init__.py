MARK = "heteroselect-report-page"  # stands in every page and figure, so that no other file is replaced
