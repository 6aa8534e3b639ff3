import type { Server } from 'node:http'

/** The procedures of all peers return it. */
export const GREETING: { readonly greeting: string } = { greeting: 'hello' }

export const BASE_URL = 'http://localhost:3000'

/** A server with tRPC at `/trpc`. `guarded` and `checked` need a session. `checked` reads it in each call. */
export interface Peer {
  respond(request: Request, connection: { readonly remoteAddress?: string | undefined }): Promise<Response>
  acceptSockets(server: Server): void
}

/** Writes to the database of a peer from another process. */
export interface Seeder {
  /** Returns the id of the new user. */
  signUp(name: string): Promise<string>
  /** Returns a `Cookie` header. */
  signIn(userId: string): Promise<string>
  /** Revokes the session of a `Cookie` header. */
  revoke(cookie: string): Promise<void>
  /** Missing if the peer has no bans. */
  readonly ban?: (userId: string) => Promise<void>
}

/** What the file of a peer exports. */
export interface PeerModule {
  open(databaseUrl: string): Promise<Peer>
  /** Creates the tables. */
  seed?(databaseUrl: string): Promise<Seeder>
}
