/** Stops the process and prints how to create keys. In production, they come from the environment. */
export function missingKeys(prefix: '' | 'SERVICE_' = ''): never {
  console.error(`In production, the keys come from the environment. Create them once, and keep ${prefix}SIGNING_KEYS secret:

  npx -y pnpm --silent --filter @sallyport/example exec sallyport keys create${prefix && ` --prefix ${prefix}`}

Then start with the two variables that it prints: ${prefix}JWKS and ${prefix}SIGNING_KEYS.`)
  process.exit(1)
}
