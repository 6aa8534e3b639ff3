import { ConfigurationError } from '@sallyport/core'
import { drizzleNames } from './drizzle-names.ts'
import type { BetterAuthContext } from './instance.ts'
import { kyselyNames } from './kysely-names.ts'
import { memberOf, textOf } from './member.ts'
import { prismaNames } from './prisma-names.ts'
import type { Tables } from './returned-columns.ts'
import type { TableNames } from './table-names.ts'

/**
 * Returns the names in the database.
 * @param options.db the app's database client, which may have the tables of Drizzle or Prisma
 * @throws ConfigurationError if they are unknown
 */
export function findTableNames(
  context: BetterAuthContext,
  { tables, db }: { tables: Tables; db: unknown },
): TableNames {
  const suffix = memberOf(context.adapter.options, 'adapterConfig', 'usePlural') === true ? 's' : ''
  const names = adapterNames(context, db)
  const modelOf = (model: string) => `${tables[model]?.modelName ?? model}${suffix}`
  const fieldOf = (model: string, field: string) => tables[model]?.fields[field]?.fieldName ?? field
  return {
    table: (model) => names.table(modelOf(model)),
    column: (model, field) => names.column(modelOf(model), fieldOf(model, field)),
    dates: (model, field) => names.dates(modelOf(model), fieldOf(model, field)),
  }
}

/** Maps the names in Better Auth's options, which its adapter uses. */
function adapterNames({ adapter, options }: BetterAuthContext, db: unknown): TableNames {
  switch (adapter.id) {
    case 'kysely':
      return kyselyNames(memberOf(options, 'database'), textOf(adapter, 'options', 'type'))
    case 'drizzle':
      return drizzleNames(memberOf(adapter, 'options', 'schema') ?? memberOf(db, '_', 'fullSchema'), db)
    case 'prisma':
      return prismaNames(memberOf(db, '_runtimeDataModel', 'models'), textOf(adapter, 'options', 'provider'))
    default:
      throw new ConfigurationError(`the table names of its adapter ${adapter.id} are unknown`)
  }
}
