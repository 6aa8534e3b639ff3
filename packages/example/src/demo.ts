/** Users that a database of development begins with. Everyone knows their password: in production there are none. */
export const DEMO_USERS = [
  { name: 'Ada', email: 'ada@example.com', role: 'admin' },
  { name: 'Grace', email: 'grace@example.com', role: 'user' },
]
export const DEMO_PASSWORD = 'correct horse battery staple'
