export type IdType = 'text' | 'uuid' | 'bigint'

export interface IdTypes {
  readonly session: IdType
  readonly user: IdType
}

const MAX_BIGINT = 2n ** 63n - 1n

/** Returns whether a column of this type can hold an id. Any other id would fail the whole batch. */
export function isIdOf(type: IdType, id: string): boolean {
  switch (type) {
    case 'text':
      return !id.includes('\0') && id.isWellFormed()
    case 'uuid':
      // The spelling of the database, which the revocation log uses too.
      return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id)
    case 'bigint':
      return /^(0|[1-9]\d{0,18})$/.test(id) && BigInt(id) <= MAX_BIGINT
  }
}
