import { readFilters } from './read-filters.ts'

/** Reads the input of `admin.users` from the query of the URL. */
export const userFilters = (search: URLSearchParams) => readFilters(search, ['search', 'cursor'])
