import type { Command } from 'commander'
import { ACTOR, addAppOptions, withApp } from './app-database.ts'
import { unchanged, usageError } from './errors.ts'
import { addExamples } from './options.ts'
import { findUser, print } from './user.ts'

export function addSessionsCommands(program: Command): void {
  const sessions = program.command('sessions').description('list and revoke sessions')
  addExamples(
    sessions,
    'sessions list ada@example.com --env .env',
    'sessions revoke --user ada@example.com --env .env',
  )

  const list = sessions.command('list').description('list the sessions of a user. The read is recorded.')
  addAppOptions(list.argument('<email>')).action((email: string) =>
    withApp(list, async (app) => {
      const { listSessionsOf } = await import('../endpoints/session-list.ts')
      const now = app.definition.config.now()
      const { id: userId } = await findUser(app, email)
      const found = await app.change((db, record) => {
        record({ type: 'admin.sessions-listed', userId, actorId: ACTOR, at: now })
        return listSessionsOf(userId, { db, now, currentId: '' })
      })
      print(
        list,
        found.map(({ id, device, address, createdAt, lastSeenAt, expiresAt }) => ({
          ...{ id, device: device ?? '', address: address ?? '' },
          ...{ created: createdAt, seen: lastSeenAt, expires: expiresAt },
        })),
      )
    }),
  )
  addExamples(list, 'sessions list ada@example.com --env .env')

  const revoke = sessions
    .command('revoke')
    .description('end a session, or all of a user: calls are rejected and streams end on every node')
  addAppOptions(revoke.argument('[id]', 'id of the session'))
    .option('--user <email>', 'end all sessions of this user')
    .action((id: string | undefined, { user }: { user?: string }) => {
      if ((id === undefined) === (user === undefined))
        throw usageError('Pass the id of a session, or --user <email>.')
      return withApp(revoke, async (app) => {
        const { deleteSessions } = await import('../lifecycle/end-session.ts')
        const userId = user === undefined ? undefined : (await findUser(app, user)).id
        const selector = {
          ...(id !== undefined && { sessionId: id }),
          ...(userId !== undefined && { userId }),
        }
        const cause = { cause: 'revoked-by-admin', actorId: ACTOR, at: app.definition.config.now() } as const
        const ended = await app.change((trx, record) =>
          deleteSessions(trx, record, { ...selector, ...cause }),
        )
        if (ended === 0) throw unchanged('No such session. Run "sallyport sessions list <email>".')
        print(revoke, [{ revoked: String(ended) }])
      })
    })
  addExamples(revoke, 'sessions revoke <id> --env .env', 'sessions revoke --user ada@example.com --env .env')
}
