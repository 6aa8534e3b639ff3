/** In production keys come from the environment. Ends the process where they are missing, and says how to make them. */
export function missingKeys(prefix: '' | 'SERVICE_' = ''): never {
  console.error(`In production the keys come from the environment. Make them once, keep ${prefix}SIGNING_KEYS secret:

  npx -y pnpm --silent --filter @sallyport/example exec sallyport keys create${prefix && ` --prefix ${prefix}`}

and start with the two variables that it prints, ${prefix}JWKS and ${prefix}SIGNING_KEYS.`)
  process.exit(1)
}
