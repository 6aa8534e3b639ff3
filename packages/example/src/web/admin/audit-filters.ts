import { readFilters } from './read-filters.ts'

/** Reads the input of `admin.audit` from the query of the URL. */
export const auditFilters = (search: URLSearchParams) =>
  readFilters(search, ['type', 'user', 'from', 'to', 'cursor'])
