import type { Edit, Replacement } from '../edits.ts'
import type { Source } from '../sources.ts'
import { FORMATTER } from '../templates.ts'
import { addImports, replaceMatch } from './replace-match.ts'
import { specifierOf } from './trpc-files.ts'

const PROCEDURE = /(?:\/\*\*(?:(?!\*\/)[\s\S])*\*\/\n)?export const \w+ = t\.procedure\b/

/** Adds the error formatter and `protectedProcedure` to the file with `initTRPC`. */
export function routerEdit({ path, text }: Source, contextPath: string): Edit {
  const ours = "import { authErrorData, sessionMiddleware } from '@sallyport/trpc'"
  const context = `import type { Context } from '${specifierOf(path, contextPath)}'`
  const hasContext = /\binitTRPC\s*\.context</.test(text)
  const create = [/\binitTRPC(\s*\.create\()/, 'initTRPC.create('] as const
  return {
    path,
    done: '@sallyport/trpc',
    replacements: [
      addImports(text, hasContext ? [ours] : [ours, context]),
      ...(hasContext
        ? []
        : [replaceMatch(text, create, ([, call = '.create(']) => `initTRPC.context<Context>()${call}`)]),
      ...formatErrors(text),
      replaceMatch(
        text,
        [PROCEDURE, 'export const publicProcedure = t.procedure'],
        ([before]) => `/** For signed-in users: \`ctx.user\` and \`ctx.session\` are set. */
export const protectedProcedure = t.procedure.use(sessionMiddleware)

${before}`,
      ),
    ],
  }
}

function formatErrors(text: string): Replacement[] {
  if (text.includes('.create()')) return [['.create()', `.create({ ${FORMATTER} })`]]
  if (!text.includes('errorFormatter'))
    return [replaceMatch(text, [/\.create\(\{\n/, '.create({'], ([before]) => `${before}  ${FORMATTER},\n`)]
  if (!text.includes('...shape.data,'))
    return [
      replaceMatch(
        text,
        [/errorFormatter\(\{ shape \}\) \{\s*return shape;?\s*\}/, 'errorFormatter'],
        () => FORMATTER,
      ),
    ]
  return [
    ['errorFormatter({ shape, error })', 'errorFormatter({ shape, error, path })'],
    replaceMatch(
      text,
      [/( *)\.\.\.shape\.data,\n/, '...shape.data,'],
      ([line, indent = '']) => `${line}${indent}auth: authErrorData({ error, path }),\n`,
    ),
  ]
}
