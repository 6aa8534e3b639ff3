import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, test } from 'vitest'
import { hostSallyport } from '../../support/host-sallyport.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'
import { writeApp } from '../../support/write-app.ts'
import { CONTEXT, PROCEDURES } from './apply-codemod.ts'

const directory = temporaryDirectory()
const TRPC = `${PROCEDURES}
export const protectedProcedure = t.procedure.use(({ ctx, next }) => {
  if (!ctx.user) throw new TRPCError({ code: 'UNAUTHORIZED' })
  return next({ ctx: { user: ctx.user } })
})
export const me = protectedProcedure.query(({ ctx }) => ctx.user.image)
`
const host = hostSallyport()
afterAll(host.stop)
const createApp = () => writeApp(directory, { 'src/context.ts': CONTEXT, 'src/trpc.ts': TRPC })
const trpcOf = (app: string) => readFileSync(join(app, 'src/trpc.ts'), 'utf8')

test('--dry-run shows the changed lines and what stays, and writes nothing', async ({ expect }) => {
  const app = createApp()
  const { code, stdout } = await host.run(['codemod', 'src', '--dry-run', '--yes'], { cwd: app })
  expect(code).toBe(0)
  expect(stdout).toBe(`change ${join('src', 'trpc.ts')}
  - import { initTRPC, TRPCError } from '@trpc/server'
  + import { initTRPC } from '@trpc/server'
  + import { sessionMiddleware } from '@sallyport/trpc'
  - export const protectedProcedure = t.procedure.use(({ ctx, next }) => {
  -   if (!ctx.user) throw new TRPCError({ code: 'UNAUTHORIZED' })
  -   return next({ ctx: { user: ctx.user } })
  - })
  + export const protectedProcedure = t.procedure.use(sessionMiddleware)

By hand:
- ${join('src', 'context.ts')}:6 remove "session" from the context, and spread the result of createAuthContext(), or of http() of betterAuthGuard(), instead. Then callbacks and plugins of the old library no longer run.
- ${join('src', 'context.ts')}:6 remove "user" from the context, and spread the result of createAuthContext(), or of http() of betterAuthGuard(), instead. Then callbacks and plugins of the old library no longer run.
- ${join('src', 'trpc.ts')}:10 sessionMiddleware's user has no "image". If betterAuthGuard(), a plugin, or a mapping adds it, use the middlewares of bindSession(). Otherwise, read it from your table.

`)
  expect(trpcOf(app)).toBe(TRPC)
})

test('--yes writes', async ({ expect }) => {
  const app = createApp()
  const { code, stdout } = await host.run(['codemod', '--yes'], { cwd: app })
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/\nDone\. .*\n$/) })
  expect(trpcOf(app)).toContain('t.procedure.use(sessionMiddleware)')
  expect((await host.run(['codemod', '--yes'], { cwd: app })).stdout).toMatch(/^Nothing to write\./)
})

test('it keeps the line ends of Windows', async ({ expect }) => {
  const app = writeApp(directory, { 'context.ts': CONTEXT, 'trpc.ts': TRPC.replaceAll('\n', '\r\n') })
  await host.run(['codemod', '--yes'], { cwd: app })
  const text = readFileSync(join(app, 'trpc.ts'), 'utf8')
  expect(text).toContain("import { sessionMiddleware } from '@sallyport/trpc'\r\n")
  expect(text.replaceAll('\r\n', '')).not.toContain('\n')
})

test('it asks, and rejects a repository with changes', async ({ expect }) => {
  const app = createApp()
  expect(await host.run(['codemod'], { cwd: app })).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Pass --yes'),
  })
  execFileSync('git', ['init', '-q'], { cwd: app })
  expect(await host.run(['codemod', '--yes'], { cwd: app })).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('uncommitted changes'),
  })
  expect(trpcOf(app)).toBe(TRPC)
  expect((await host.run(['codemod', '--yes', '--force'], { cwd: app })).code).toBe(0)
})

test('it rejects a repository with changes that is not the one of the working directory', async ({
  expect,
}) => {
  const app = createApp()
  execFileSync('git', ['init', '-q'], { cwd: app })
  expect(await host.run(['codemod', app, '--yes'], { cwd: dirname(app) })).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('uncommitted changes'),
  })
  expect(trpcOf(app)).toBe(TRPC)
})
