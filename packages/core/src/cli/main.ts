#!/usr/bin/env node
import { nodeVersionFault } from '../protocol/node-version.ts'

const fault = nodeVersionFault()
if (fault === null) {
  // Loaded only now, because its imports fail on old versions of Node.
  const { run } = await import('./run.ts')
  await run()
} else {
  console.error(fault)
  process.exitCode = 1
}
