import { env } from './env.ts'

/** Returns a listener for a server's errors. If another process uses the port, it says what to do. */
export const reportTakenPort =
  (variable: 'PORT' | 'EDGE_PORT') =>
  (error: NodeJS.ErrnoException): never => {
    if (error.code !== 'EADDRINUSE') throw error
    console.error(
      `Port ${env[variable]} is in use. Stop the process that uses it, or set ${variable} to another port.`,
    )
    process.exit(1)
  }
