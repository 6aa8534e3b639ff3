import {
  AddColumnNode,
  type ColumnDefinitionNode,
  ColumnNode,
  type ConstraintNode,
  DataTypeNode,
  type ForeignKeyConstraintNode,
  type OperationNode,
  RawNode,
  type ReferencesNode,
  type RootOperationNode,
  type TableNode,
  ValueNode,
} from 'kysely'
import type { Column, ForeignKey, Table } from './table.ts'

/** Applies a statement of a migration to a description of tables. Returns a statement that it can't read. */
export function applyStatement(tables: Map<string, Table>, node: RootOperationNode): string | undefined {
  switch (node.kind) {
    case 'CreateTableNode': {
      const name = tableName(node.table)
      const columns = Object.fromEntries(node.columns.map(toEntry))
      const table: Table = { columns }
      tables.set(
        name,
        (node.constraints ?? []).reduce((before, one) => withConstraint(before, name, one), table),
      )
      return undefined
    }
    case 'AlterTableNode': {
      const name = tableName(node.table)
      const { kind: _, table: __, columnAlterations = [], addConstraint, ...others } = node
      const added = columnAlterations.filter((alteration) => AddColumnNode.is(alteration))
      if (Object.keys(others).length > 0 || added.length < columnAlterations.length)
        return `alter table ${name}`
      const before: Table = tables.get(name) ?? { columns: {} }
      const columns = { ...before.columns, ...Object.fromEntries(added.map(({ column }) => toEntry(column))) }
      const table = { ...before, columns }
      tables.set(name, addConstraint ? withConstraint(table, name, addConstraint.constraint) : table)
      return undefined
    }
    case 'CreateIndexNode': {
      const name = node.table && tableName(node.table)
      const table = name && tables.get(name)
      const columns = names(node.columns ?? [])
      // An index on an expression, or a partial one, doesn't change what the tables accept.
      if (!table || node.where || columns.length !== node.columns?.length) return undefined
      const index = { columns, ...(node.unique && { isUnique: true as const }) }
      tables.set(name, { ...table, indexes: { ...table.indexes, [node.name.name]: index } })
      return undefined
    }
    case 'DropTableNode':
      tables.delete(tableName(node.table))
      return undefined
    case 'RawNode':
      return /^\s*(create|alter|drop)\s+table\s+\S+/i.exec(node.sqlFragments.join('?'))?.[0].trim()
    default:
      return undefined
  }
}

function tableName({ table: { schema, identifier } }: TableNode): string {
  return schema ? `${schema.name}.${identifier.name}` : identifier.name
}

const names = (nodes: readonly OperationNode[]): string[] =>
  nodes.flatMap((node) => (ColumnNode.is(node) ? [node.column.name] : []))

function toEntry(node: ColumnDefinitionNode): [string, Column] {
  const { notNull, primaryKey, autoIncrement, unique, references, defaultTo, dataType } = node
  const value = defaultTo && toDefault(defaultTo.defaultValue)
  const column: Column = {
    type: typeName(dataType),
    ...(!notNull && !primaryKey && { isNullable: true }),
    ...(primaryKey && { isPrimaryKey: true }),
    ...(autoIncrement && { isAutoIncrement: true }),
    ...(unique && { isUnique: true }),
    ...(value !== undefined && { default: value }),
    ...(references && { references: toReference(references) }),
  }
  return [node.column.column.name, column]
}

function typeName(node: OperationNode): string {
  return (
    DataTypeNode.is(node) ? node.dataType : RawNode.is(node) ? node.sqlFragments.join('') : 'text'
  ).toLowerCase()
}

function toDefault(node: OperationNode): Column['default'] {
  if (RawNode.is(node)) {
    const text = node.sqlFragments.join('')
    return text === 'true' || text === 'false' ? text === 'true' : { sql: text }
  }
  if (!ValueNode.is(node)) return undefined
  const { value } = node
  const isPlain = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
  return isPlain ? value : undefined
}

function toReference({ table, columns, onDelete }: ReferencesNode): NonNullable<Column['references']> {
  return { table: tableName(table), column: names(columns)[0] ?? 'id', ...(onDelete && { onDelete }) }
}

function withConstraint(table: Table, name: string, node: ConstraintNode): Table {
  if (node.kind === 'UniqueConstraintNode') {
    const columns = names(node.columns)
    const constraint = node.name?.name ?? `${name}_${columns.join('_')}_key`
    return { ...table, uniques: { ...table.uniques, [constraint]: columns } }
  }
  if (node.kind === 'ForeignKeyConstraintNode') {
    const key = toForeignKey(node)
    const constraint = node.name?.name ?? `${name}_${key.columns.join('_')}_fkey`
    return { ...table, foreignKeys: { ...table.foreignKeys, [constraint]: key } }
  }
  if (node.kind !== 'PrimaryKeyConstraintNode') return table
  const keys = names(node.columns)
  const columns = Object.entries(table.columns).map(([column, shape]): [string, Column] => {
    const { isNullable: _, ...rest } = shape
    return [column, keys.includes(column) ? { ...rest, isPrimaryKey: true } : shape]
  })
  return { ...table, columns: Object.fromEntries(columns) }
}

function toForeignKey(node: ForeignKeyConstraintNode): ForeignKey {
  const { columns, references, onDelete, initiallyDeferred } = node
  return {
    columns: names(columns),
    table: tableName(references.table),
    references: names(references.columns),
    ...(onDelete && { onDelete }),
    ...(initiallyDeferred && { isDeferred: true }),
  }
}
