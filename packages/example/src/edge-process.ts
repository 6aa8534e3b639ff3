// Must be imported first: without this variable, other modules open the database and read the private keys.
process.env.PROCESS = 'edge'
