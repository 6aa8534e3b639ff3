import { expect, onTestFinished, test, vi } from 'vitest'
import { testPostgres } from '../../../core/test/support/postgres.ts'
import { COLUMNS, createApp } from './app.ts'
import { SCENES } from './scenes.ts'

const postgres = await testPostgres()

test.each(SCENES)(
  'reads the tables of $name as Better Auth does, until a session is deleted',
  async ({ open }) => {
    const warn = vi.spyOn(console, 'warn')
    onTestFinished(() => warn.mockRestore())
    const { options, db, run, sessions = 'session', ...guardOptions } = await open(postgres)
    const { auth, call, signUp } = createApp({ ...COLUMNS, ...options }, { db, ...guardOptions })
    const { cookie, headers } = await signUp()
    await auth.api.createOrganization({ headers, body: { name: 'Ada Ltd.', slug: 'ada' } })

    const found = await auth.api.getSession({ headers })
    const { token, ...session } = found?.session ?? {}
    expect(await call(cookie)).toMatchObject({
      session: { ...session, activeOrganizationRole: 'owner' },
      user: { ...found?.user, birthday: new Date('1985-03-04'), tags: ['a', 'b "c"'] },
    })
    const seen = JSON.stringify(await call(cookie))
    for (const secret of [token, 'hidden']) expect(seen).not.toContain(secret)
    expect(warn).not.toHaveBeenCalled()

    await run(`delete from ${sessions}`)
    expect(await call(cookie)).toBe('SESSION_NOT_FOUND')
  },
)
