// Imported before everything else, since all other modules go by it: no database, and no private key of users.
process.env.PROCESS = 'edge'
