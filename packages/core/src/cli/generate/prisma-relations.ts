import type { Tables } from '../../database/schema/table.ts'

/** A reference from one table to another. */
interface Relation {
  readonly from: string
  readonly to: string
  readonly columns: readonly string[]
  readonly references: readonly string[]
  readonly onDelete?: string
  /** The name of the constraint. */
  readonly map: string
}

/** Returns the relation fields of a model: those it declares, and the other side of those that name it. */
export function relationsOf(table: string, tables: Tables): [string, ...string[]][] {
  const relations = Object.keys(tables).flatMap((from) => referencesOf(from, tables))
  const label = (relation: Relation) => {
    const same = relations.filter(({ from, to }) => from === relation.from && to === relation.to)
    return same.length > 1 ? `"${relation.from}_${relation.columns.join('_')}"` : null
  }
  const own = relations
    .filter(({ from }) => from === table)
    .map((relation): [string, ...string[]] => {
      const { to, columns, references, onDelete = 'no action', map } = relation
      const parts = [
        label(relation),
        `fields: [${columns.join(', ')}]`,
        `references: [${references.join(', ')}]`,
        `onDelete: ${modelName(onDelete)}`,
        'onUpdate: NoAction',
        map !== `${table}_${columns.join('_')}_fkey` && `map: "${map}"`,
      ]
      const isNullable = columns.some((column) => tables[table]?.columns[column]?.isNullable)
      return [
        fieldName(columns, to),
        `${modelName(to)}${isNullable ? '?' : ''}`,
        `@relation(${parts.filter(Boolean).join(', ')})`,
      ]
    })
  const others = relations
    .filter(({ to }) => to === table)
    .map((relation): [string, ...string[]] => {
      const { from, columns } = relation
      const name = label(relation)
      const isOne = columns.length === 1 && tables[from]?.columns[columns[0] ?? '']?.isUnique
      const field = `${lowerFirst(modelName(from))}${isOne ? '' : 's'}`
      return [
        name === null ? field : `${field}By${modelName(columns.at(-1) ?? '')}`,
        `${modelName(from)}${isOne ? '?' : '[]'}`,
        ...(name === null ? [] : [`@relation(${name})`]),
      ]
    })
  return [...own, ...others]
}

function referencesOf(from: string, tables: Tables): Relation[] {
  return Object.entries(tables[from]?.foreignKeys ?? {})
    .map(([map, { table: to, ...key }]) => ({ from, to, ...key, map }))
    .filter(({ to }) => tables[to] !== undefined)
}

/** Returns the column without `Id`, such as `user`. */
function fieldName(columns: readonly string[], table: string): string {
  const name = columns.at(-1)?.replace(/_?[iI]d$/, '') ?? table
  return columns.includes(name) ? `${name}Record` : name
}

const lowerFirst = (text: string) => text.charAt(0).toLowerCase() + text.slice(1)

/** Returns the name of a table's model, such as `KnownDevice`, or that of `set null`. */
export function modelName(table: string): string {
  return table.replaceAll(/(?:^|[^A-Za-z0-9]+)([A-Za-z0-9])/g, (_match, letter: string) =>
    letter.toUpperCase(),
  )
}
