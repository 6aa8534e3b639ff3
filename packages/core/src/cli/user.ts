import { type Command, Option } from 'commander'
import { toNullableDate } from '../database/schema/kysely-tables.ts'
import type { AuthDefinition } from '../endpoints/definition.ts'
import { isEndpointError } from '../protocol/endpoint-error.ts'
import { ConfigurationError } from '../protocol/errors.ts'
import { isBanned } from '../session/session.ts'
import { toIso } from '../session/session-row.ts'
import { ACTOR, type App, addAppOptions, withApp } from './app-database.ts'
import { unchanged, usageError } from './errors.ts'
import { formatColumns } from './key-table.ts'
import { addExamples, positiveInteger } from './options.ts'
import { readPassword } from './read-password.ts'

export function addUserCommands(program: Command): void {
  const user = program.command('user').description('create, promote, and list users')
  addExamples(user, 'user create me@example.com --name Me --role admin --env .env', 'user list --env .env')

  const create = user.command('create').description('create a user who signs in by email and password')
  addAppOptions(create.argument('<email>'))
    .requiredOption('--name <name>', 'name of the user')
    .option('--role <role>', 'role of the user', 'user')
    .action((email: string, { name, role }: { name: string; role: string }) =>
      withApp(create, async ({ database, definition }) => {
        const { passwordRulesOf } = await import('../plugins/email-password/settings.ts')
        const { createPasswordAccount } = await import('../plugins/email-password/accounts.ts')
        await requireRole(definition, role)
        const rules = passwordRulesOf(definition.plugins)
        if (rules === null)
          throw new ConfigurationError('The auth definition lacks emailPassword(). Add the plugin.')
        const account = { name, email, role, password: await readPassword(), actorId: ACTOR }
        const now = definition.config.now()
        const { userId } = await createPasswordAccount(database, { ...rules, ...account, now }).catch(explain)
        print(create, [{ id: userId, email: asStored(email), role }])
      }),
    )
  addExamples(
    create,
    'user create me@example.com --name Me --role admin --env .env   # asks for the password',
    'user create ada@example.com --name Ada --env .env < password.txt',
  )

  const promote = user.command('promote').description('give a user another role, from their next call on')
  addAppOptions(promote.argument('<email>'))
    .option('--role <role>', 'the new role', 'admin')
    .action((email: string, { role }: { role: string }) =>
      withApp(promote, async (app) => {
        await requireRole(app.definition, role)
        const { changeRole } = await import('../lifecycle/change-role.ts')
        const at = app.definition.config.now()
        const { id: userId, role: from } = await findUser(app, email)
        if (from === role) throw unchanged(`${email} is ${role} already.`)
        await app.change((trx, record) => changeRole(trx, record, { userId, role, actorId: ACTOR, at }))
        print(promote, [{ id: userId, email: asStored(email), from, to: role }])
      }),
    )
  addExamples(promote, 'user promote me@example.com --env .env')

  const list = user.command('list').description('list users, the newest first. The read is recorded.')
  addAppOptions(list)
    .option('--search <text>', 'part of an email or a name', '')
    .addOption(new Option('--limit <users>', 'how many').default(100).argParser(positiveInteger))
    .action(({ search, limit }: { search: string; limit: number }) =>
      withApp(list, async ({ definition, change }) => {
        const { selectUsers } = await import('../plugins/admin/list-users.ts')
        const now = definition.config.now()
        const read = { userId: null, actorId: ACTOR, at: now, search: search || null }
        const users = await change((trx, record) => {
          record({ type: 'admin.users-listed', ...read })
          return selectUsers(trx, search).orderBy('createdAt', 'desc').orderBy('id').limit(limit).execute()
        })
        print(
          list,
          users.map(({ id, email, emailVerified, name, role, banned, banExpires, createdAt }) => {
            const ban = { banned: Boolean(banned), banExpires: toNullableDate(banExpires) }
            const state = isBanned(ban, now) ? 'banned' : 'active'
            const verified = emailVerified ? 'yes' : 'no'
            return { id, email, verified, name, role, state, created: toIso(createdAt) }
          }),
        )
      }),
    )
  addExamples(list, 'user list --env .env', 'user list --search ada --json --env .env')
}

/** @throws CommanderError for a role that `admin()` rejects. Without it, only the app knows its roles */
async function requireRole({ plugins }: AuthDefinition, role: string): Promise<void> {
  const { rolesOf } = await import('../plugins/admin/settings.ts')
  const roles = rolesOf(plugins)
  if (roles?.includes(role) === false)
    throw usageError(`Role "${role}" is unknown. Pass ${roles.join(' or ')}, or add it to admin({ roles }).`)
  if (!/^[\p{L}\p{N}]([\p{L}\p{N} _.:/-]{0,62}[\p{L}\p{N}])?$/u.test(role))
    throw usageError(`"${role}" can't be a role. Use up to 64 letters, digits, and characters such as -.`)
}

/** @throws ConfigurationError if no user has the email */
export async function findUser(
  { database }: App,
  given: string,
): Promise<{ readonly id: string; readonly role: string }> {
  const email = asStored(given)
  const users = database.db.selectFrom('user').select(['id', 'role']).where('email', '=', email)
  const user = await users.executeTakeFirst()
  if (user === undefined)
    throw new ConfigurationError(`No user has the email ${email}. Run "sallyport user list".`)
  return user
}

/** Converts ASCII letters only: with the Kelvin sign as a `k`, the result may be another user's address. */
const asStored = (email: string) => email.trim().replace(/[A-Z]/g, (letter) => letter.toLowerCase())

/** Prints rows as JSON or as a table. */
export function print(command: Command, rows: readonly Readonly<Record<string, string>>[]): void {
  console.log(command.opts<{ json?: true }>().json ? JSON.stringify(rows, null, 2) : formatColumns(rows))
}

/** The messages of endpoints are for users, not operators. */
function explain(error: unknown): never {
  if (!isEndpointError(error)) throw error
  if (error.code === 'EMAIL_TAKEN') throw unchanged('A user with this email exists.')
  if (error.code !== 'INVALID_INPUT') throw error
  const hint = error.fields.includes('password') ? ' A password has 8 to 256 characters.' : ''
  throw new ConfigurationError(`Not valid: ${error.fields.join(', ')}.${hint}`, { cause: error })
}
