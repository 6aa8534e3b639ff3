/** The files in `app/` that are compared, with their names in the tables. */
export const PEERS = {
  sallyport: 'Sallyport',
  'jose-kysely': 'jose + Kysely by hand',
  'better-auth': 'Better Auth',
  'better-auth-cached': 'Better Auth, cookie cache',
  'auth-js': 'Auth.js, database sessions',
} as const

export type PeerName = keyof typeof PEERS

export const PEER_NAMES = Object.keys(PEERS).filter((name): name is PeerName => name in PEERS)

/** The server whose middleware checks nothing. */
export type ServerName = PeerName | 'bound'

export type DatabaseName = 'SQLite' | 'PostgreSQL'
