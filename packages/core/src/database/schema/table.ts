/** A column. Not null unless it says so. */
export interface Column {
  /** `flag`, `timestamp`, and `number` differ between databases. A plugin may use any other SQL type. */
  readonly type: string
  readonly isNullable?: true
  readonly isPrimaryKey?: true
  readonly isUnique?: true
  /** SQLite numbers the rows. */
  readonly isAutoIncrement?: true
  readonly default?: string | number | boolean | { readonly sql: string }
  readonly references?: Reference
}

/** What happens to a row when the row that it references is deleted. */
export type DeleteAction = 'cascade' | 'restrict' | 'set null' | 'set default' | 'no action'

export interface Reference {
  readonly table: string
  readonly column: string
  readonly onDelete?: DeleteAction
}

export interface Index {
  readonly columns: readonly string[]
  readonly isUnique?: true
}

export interface ForeignKey {
  readonly columns: readonly string[]
  readonly table: string
  readonly references: readonly string[]
  readonly onDelete?: DeleteAction
  /** Checked at commit. Drizzle and Prisma can't declare that. */
  readonly isDeferred?: true
}

/** A table. Indexes and constraints have names. */
export interface Table {
  readonly columns: Readonly<Record<string, Column>>
  readonly uniques?: Readonly<Record<string, readonly string[]>>
  readonly foreignKeys?: Readonly<Record<string, ForeignKey>>
  readonly indexes?: Readonly<Record<string, Index>>
}

export type Tables = Readonly<Record<string, Table>>
