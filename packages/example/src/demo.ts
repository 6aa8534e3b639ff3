/** The first users of a development database. Their password is public, so production rejects them. */
export const DEMO_USERS = [
  { name: 'Ada', email: 'ada@example.com', role: 'admin' },
  { name: 'Grace', email: 'grace@example.com', role: 'user' },
]
export const DEMO_PASSWORD = 'correct horse battery staple'
