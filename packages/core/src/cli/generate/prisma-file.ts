import type { Engine } from '../../database/schema/mapping.ts'
import type { Column, Index, Table, Tables } from '../../database/schema/table.ts'
import { ConfigurationError } from '../../protocol/errors.ts'
import { modelName, relationsOf } from './prisma-relations.ts'

const START = '// Written by "sallyport generate" from here. It keeps fields that you add to these models.'
const END = '// Written by "sallyport generate" up to here.'

interface PrismaOptions {
  readonly engine: Engine
  readonly current: string | null
  /** The text of the other files in a schema folder. */
  readonly others: string
}

/**
 * Returns `schema.prisma` with our models between two comments. If that differs from the current text only in
 * spaces, which `prisma format` changes, returns the current text.
 * @throws ConfigurationError
 */
export function prismaFile(tables: Tables, { engine, current, others }: PrismaOptions): string {
  const text = current ?? (others === '' ? emptySchema(engine) : '')
  const [start, end] = [text.indexOf(START), text.indexOf(END)]
  if ((start === -1) !== (end === -1) || end < start)
    throw new ConfigurationError(
      `schema.prisma has only one of the comments around our models. Restore "${START}" and "${END}".`,
    )
  const [before, block, after] =
    start === -1
      ? [text === '' ? '' : `${text.trimEnd()}\n\n`, '', '\n']
      : [text.slice(0, start), text.slice(start, end), text.slice(end + END.length)]
  const present = new Set(
    [...`${before}${after}\n${others}`.matchAll(/^\s*(?:model|enum|type)\s+(\w+)/gm)].map(([, name]) => name),
  )
  const names = Object.keys(tables).map(modelName)
  const taken = names.find((name) => present.has(name))
  if (taken !== undefined)
    throw new ConfigurationError(`The Prisma schema already has a model ${taken}. Rename it, or remove it.`)
  const models = Object.entries(tables).map(([name, table]) =>
    modelText(name, modelLines([name, table], { tables, engine }), block),
  )
  const next = `${before}${START}\n${models.join('\n')}${END}${after}`
  const words = (schema: string) => schema.split(/\s+/).join(' ')
  return current !== null && words(next) === words(current) ? current : next
}

function emptySchema(engine: Engine): string {
  return `generator client {
  provider = "prisma-client"
  output   = "../src/generated/prisma"
}

datasource db {
  provider = "${engine === 'sqlite' ? 'sqlite' : 'postgresql'}"
}
`
}

/** The lines of a model: its fields by name, and its attributes. */
interface ModelLines {
  readonly fields: readonly (readonly [name: string, ...rest: string[]])[]
  readonly attributes: readonly string[]
}

function modelLines(
  [name, described]: [string, Table],
  { tables, engine }: { tables: Tables; engine: Engine },
): ModelLines {
  const table = withUniqueColumns(name, described)
  const keys = Object.keys(table.columns).filter((column) => table.columns[column]?.isPrimaryKey)
  const list = (columns: readonly string[]) => `[${columns.join(', ')}]`
  return {
    fields: [
      ...Object.entries(table.columns).map(([column, shape]) =>
        field(column, shape, { engine, isAlone: keys.length === 1 }),
      ),
      ...relationsOf(name, tables),
    ],
    attributes: [
      ...(keys.length > 1 ? [`@@id(${list(keys)})`] : []),
      ...Object.entries(table.uniques ?? {}).map(
        ([map, columns]) => `@@unique(${list(columns)}, map: "${map}")`,
      ),
      ...Object.entries(table.indexes ?? {}).map(
        ([map, { columns, isUnique }]) =>
          `@@${isUnique ? 'unique' : 'index'}(${list(columns)}, map: "${map}")`,
      ),
      `@@map("${name}")`,
    ],
  }
}

/** Writes a unique index of one column as its attribute, if the index has the name that Prisma gives it. */
function withUniqueColumns(name: string, table: Table): Table {
  const isOfColumn = (index: string, { columns, isUnique }: Index) =>
    isUnique && columns.length === 1 && index === `${name}_${columns[0]}_key`
  const indexes = Object.entries(table.indexes ?? {})
  const unique = indexes
    .filter(([index, shape]) => isOfColumn(index, shape))
    .flatMap(([, { columns }]) => columns)
  const columns = Object.entries(table.columns).map(([column, shape]): [string, Column] => [
    column,
    unique.includes(column) ? { ...shape, isUnique: true } : shape,
  ])
  return {
    ...table,
    columns: Object.fromEntries(columns),
    indexes: Object.fromEntries(indexes.filter(([index, shape]) => !isOfColumn(index, shape))),
  }
}

const OF_BOTH = { text: 'String', flag: 'Boolean', integer: 'Int', bigint: 'BigInt', number: 'Float' }

const TYPES: Readonly<Record<Engine, Readonly<Record<string, string>>>> = {
  sqlite: { ...OF_BOTH, timestamp: 'String' },
  postgres: {
    ...{ ...OF_BOTH, timestamp: 'DateTime', real: 'Float @db.Real' },
    ...{ uuid: 'String @db.Uuid', json: 'Json @db.Json', jsonb: 'Json' },
  },
}

/** @param options.isAlone whether the model has one key, which is an attribute of its field */
function field(
  name: string,
  column: Column,
  { engine, isAlone }: { engine: Engine; isAlone: boolean },
): [string, ...string[]] {
  const { type, isNullable, isPrimaryKey, isAutoIncrement, isUnique, default: value } = column
  const known = TYPES[engine][type] ?? (/^varchar/.test(type) ? 'String' : `Unsupported("${type}")`)
  const initial = isAutoIncrement ? 'autoincrement()' : defaultText(value)
  const attributes = [
    isPrimaryKey && isAlone && '@id',
    isUnique && '@unique',
    initial !== undefined && `@default(${initial})`,
    type === 'timestamp' && engine === 'postgres' && '@db.Timestamptz(6)',
  ]
  return [name, `${known}${isNullable ? '?' : ''}`, ...attributes.filter((text) => typeof text === 'string')]
}

function defaultText(value: Column['default']): string | undefined {
  if (value === undefined) return undefined
  return typeof value === 'object' ? `dbgenerated(${JSON.stringify(value.sql)})` : JSON.stringify(value)
}

/** Writes a model, with the lines that the app added to it in the previous block. */
function modelText(table: string, { fields, attributes }: ModelLines, block: string): string {
  const name = modelName(table)
  const [, body = ''] = new RegExp(`^model ${name} \\{\\n(.*?)^\\}`, 'ms').exec(block) ?? []
  const ours = new Set([...fields.map(([first]) => first), ...attributes])
  const kept = body
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !ours.has(line.startsWith('@@') ? line : (line.split(/\s/, 1)[0] ?? '')))
  const width = (place: number) => Math.max(...fields.map((line) => line[place]?.length ?? 0))
  const [first, second] = [width(0), width(1)]
  const lines = fields.map(([field, type = '', ...rest]) =>
    `  ${field.padEnd(first)} ${type.padEnd(second)} ${rest.join(' ')}`.trimEnd(),
  )
  const all = [...lines, ...kept.map((line) => `  ${line}`), '', ...attributes.map((line) => `  ${line}`)]
  return `model ${name} {\n${all.join('\n')}\n}\n`
}
