import type { Replacement } from '../edits.ts'
import { FORMATTER } from '../templates.ts'

export const ROUTER: RegExp = /\binitTRPC\b[^;]*\.create\(/

const CREATE =
  /^((?:export )?const (\w+) = initTRPC\s*(?:\.context<.*>\(\))?\s*\.create\()(\)|\{[\s\S]*?\}\));?$/m

/** Returns replacements that add `authErrorData` and `protectedProcedure`; null if the app has its own. */
export function addToRouter(text: string): Replacement[] | null {
  const found = CREATE.exec(text)
  if (found === null || /\b(?:errorFormatter|protectedProcedure)\b/.test(text)) return null
  const [before, create = '', t = '', options = ''] = found
  const space = /^\{(\s*)/.exec(options)?.[1]
  const given = options === ')' ? `{\n  ${FORMATTER},\n})` : `{${space}${FORMATTER},${options.slice(1)}`
  const typed = create.includes('.context<')
    ? create
    : create.replace(/initTRPC(\s*)\.create/, 'initTRPC.context<Context>()$1.create')
  return [
    [before, `${typed}${given};\nexport const protectedProcedure = ${t}.procedure.use(sessionMiddleware);`],
  ]
}
