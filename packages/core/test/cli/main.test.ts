import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { defineAuthConfig, staticJwks, verifyJwt } from '@sallyport/core'
import { defineAuth, issueJwt, parseSigningKeys } from '@sallyport/core/auth'
import { openSqlite } from '@sallyport/core/sqlite'
import { afterAll, describe, expect, test } from 'vitest'
import { hostSallyport } from '../support/host-sallyport.ts'
import { runSallyport } from '../support/run-sallyport.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const directory = temporaryDirectory()
const host = hostSallyport()
afterAll(host.stop)
const sallyport = (args: string[], env: Record<string, string> = {}) =>
  host.run(args, { cwd: directory, env })

describe.concurrent('sallyport migrate', () => {
  test('creates a database, and the second time has nothing to do', async () => {
    const url = `file:${join(directory, 'cli.db')}`
    expect(await sallyport(['migrate', '--database', url])).toEqual({
      code: 0,
      stdout:
        'applied 0001_sessions\napplied 0002_lifecycle\napplied 0003_revocation_log\napplied 0004_service_calls\napplied 0005_session_version\napplied 0006_audit_origin\n6 applied\n',
      stderr: '',
    })
    expect(await sallyport(['migrate', '-d', url])).toEqual({ code: 0, stdout: 'up to date\n', stderr: '' })
    const { migrations, close } = await openSqlite(url)
    expect(migrations.applied).toEqual([])
    await close()
  })

  test('takes the database from DATABASE_URL', async () => {
    const { code } = await sallyport(['migrate'], { DATABASE_URL: 'file:from-env.db' })
    expect(code).toBe(0)
    expect(existsSync(join(directory, 'from-env.db'))).toBe(true)
  })

  test.each([
    ['no database', [], 2, 'required option'],
    ['a database of another kind', ['-d', 'mysql://localhost/app'], 1, 'SQLite database URL'],
    ['a file that is no database', ['-d', 'file:text.db'], 1, 'not a database'],
    ['an unknown option', ['-d', 'file:other.db', '--force'], 2, 'unknown option'],
  ])('with %s fails in one line', async (_name, args, expected, message) => {
    writeFileSync(join(directory, 'text.db'), 'not a database '.repeat(100))
    const { code, stdout, stderr } = await sallyport(['migrate', ...args])
    expect(code).toBe(expected)
    expect(stdout).toBe('')
    expect(stderr).toContain(message)
    expect(stderr).not.toContain('    at ')
  })
})

describe.concurrent('sallyport keys create', () => {
  test.each([
    ['Ed25519', []],
    ['ES256', ['--algorithm', 'ES256']],
    ['ES256', ['-a', 'ES256']],
  ])('prints a key pair for %s that an app can start with', async (alg, args) => {
    const { code, stdout, stderr } = await sallyport(['keys', 'create', ...args])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const [, publicKeys = '', privateKeys = ''] = /^JWKS='(.+)'\nSIGNING_KEYS='(.+)'\n$/.exec(stdout) ?? []
    expect(publicKeys).not.toContain('"d"')
    const config = defineAuthConfig({ baseUrl: 'http://localhost:3000', jwks: staticJwks(publicKeys) })
    defineAuth({ config, signingKeys: privateKeys })
    const { active: key } = parseSigningKeys(privateKeys)
    expect(key.alg).toBe(alg)
    const session = { id: 's1', userId: 'ada', expiresAt: new Date(Date.now() + 60_000) }
    const { token } = await issueJwt(session, { key, config })
    expect(await verifyJwt(token, config)).toMatchObject({ userId: 'ada', keyId: key.kid })
  })

  test('prints another key every time', async () => {
    const [one, other] = await Promise.all([sallyport(['keys', 'create']), sallyport(['keys', 'create'])])
    expect(one.stdout).not.toBe(other.stdout)
  })

  test('knows no other algorithm', async () => {
    const { code, stdout, stderr } = await sallyport(['keys', 'create', '-a', 'HS256'])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain('Ed25519, ES256')
  })
})

describe.concurrent('sallyport', () => {
  test('explains itself', async () => {
    const { code, stdout } = await runSallyport(['--help'], { cwd: directory })
    expect(code).toBe(0)
    for (const word of ['migrate', 'keys']) expect(stdout).toContain(word)
  })

  test.each([[[]], [['unknown']], [['keys']], [['keys', 'unknown']]])(
    'fails with the arguments %j',
    async (args) => {
      const { code, stdout } = await runSallyport(args, { cwd: directory })
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    },
  )
})
