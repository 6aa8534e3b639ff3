// Another process that says more than it should.
console.log(process.argv[2])
