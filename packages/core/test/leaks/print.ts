// Another process that prints a secret.
console.log(process.argv[2])
