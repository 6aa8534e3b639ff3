import { openSqlite } from '@sallyport/core/sqlite'

export const database = await openSqlite('file:data/app.db')
