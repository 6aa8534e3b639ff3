import { openPostgres } from '@sallyport/core/postgres'
import { openSqlite } from '@sallyport/core/sqlite'
import Database from 'better-sqlite3'
import { sql } from 'kysely'
import pg from 'pg'

type Opened = Awaited<ReturnType<typeof openSqlite>> | Awaited<ReturnType<typeof openPostgres>>

/** A database of several nodes, with connections outside all of them. */
export interface Engine {
  /** Opens it for another node. */
  open(): Promise<Opened>
  /** Runs a statement outside the nodes, even while they can't write. */
  run(statement: string): Promise<void>
  /** Makes every write of the nodes fail, as on a full disk. */
  setReadOnly(isReadOnly: boolean): Promise<void>
  /** Locks the rows of a user against writes, until the returned function is called. */
  lock(userId: string): Promise<() => Promise<void>>
  close(): Promise<void>
}

export function sqliteEngine(path: string): Engine {
  const hand = new Database(path)
  hand.pragma('journal_mode = wal')
  hand.pragma('synchronous = off')
  const opened: Awaited<ReturnType<typeof openSqlite>>[] = []
  return {
    async open() {
      const database = await openSqlite(path)
      await sql`pragma synchronous = off`.execute(database.db)
      opened.push(database)
      return database
    },
    run: async (statement) => void hand.exec(statement),
    async setReadOnly(isReadOnly) {
      for (const { db } of opened)
        await sql`pragma query_only = ${sql.raw(isReadOnly ? 'on' : 'off')}`.execute(db)
    },
    async lock() {
      hand.exec('begin immediate')
      return async () => void hand.exec('commit')
    },
    close: async () => void hand.close(),
  }
}

/** Its writes fail by a trigger that reports a full disk, except those of the `hand`. */
const FULL_DISK = `
create table full_disk (is_full boolean);
insert into full_disk values (false);
create function fail_on_full_disk() returns trigger language plpgsql as $$ begin
  if current_setting('application_name') <> 'hand' and (select is_full from full_disk) then
    raise exception using errcode = '53100', message = 'The disk is full';
  end if;
  return coalesce(new, old);
end $$;
create trigger full_disk before insert or update or delete on "user" for each row execute function fail_on_full_disk();
create trigger full_disk before insert or update or delete on session for each row execute function fail_on_full_disk();`

export function postgresEngine(url: string): Engine {
  const hand = new pg.Pool({ connectionString: url, application_name: 'hand', max: 2 })
  hand.on('error', () => {})
  let preparing: Promise<unknown> | undefined
  return {
    async open() {
      const database = await openPostgres(url)
      preparing ??= hand.query(FULL_DISK)
      await preparing
      return database
    },
    run: async (statement) => void (await hand.query(statement)),
    setReadOnly: async (isReadOnly) =>
      void (await hand.query('update full_disk set is_full = $1', [isReadOnly])),
    async lock(userId) {
      const client = await hand.connect()
      await client.query('begin')
      await client.query('select id from "user" where id = $1 for update', [userId])
      return async () => {
        await client.query('commit')
        client.release()
      }
    },
    close: () => hand.end(),
  }
}
