import { ConfigurationError } from '@sallyport/core'
import { memberOf, textOf } from './member.ts'
import type { TableNames } from './table-names.ts'

/** Returns the names in a schema of Prisma. */
export function prismaNames(models: unknown, provider: string | undefined): TableNames {
  const modelOf = (model: string) => {
    const found = memberOf(models, model.charAt(0).toUpperCase() + model.slice(1)) ?? memberOf(models, model)
    if (typeof found === 'object') return found
    throw new ConfigurationError(`the Prisma schema has no model ${model}`)
  }
  return {
    table: (model) => {
      const found = modelOf(model)
      const name = textOf(found, 'dbName') ?? model.charAt(0).toUpperCase() + model.slice(1)
      const schema = textOf(found, 'schema')
      return schema === undefined ? name : `${schema}.${name}`
    },
    column: (model, field) => {
      const fields = memberOf(modelOf(model), 'fields')
      const found: unknown = Array.isArray(fields) && fields.find((each) => textOf(each, 'name') === field)
      return textOf(found, 'dbName') ?? field
    },
    dates: () => (provider === 'postgresql' ? 'timestamp' : 'iso'),
  }
}
