import type { DateEncoding } from '@sallyport/core/sqlite'

/** Maps the names that Better Auth uses to the names in the database. */
export interface TableNames {
  table(model: string): string
  column(model: string, field: string): string
  /** @throws ConfigurationError if the format of the dates is unknown */
  dates(model: string, field: string): DateEncoding
}
