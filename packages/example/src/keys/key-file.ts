import { type KeyFile, openKeyFile } from '@sallyport/core/auth'

const files = new Map<string, Promise<KeyFile>>()

/**
 * Keys in a file, for development. It is made at the first start and followed from then on: `sallyport keys rotate --key-file
 * data/keys.json` needs no restart.
 */
export function keyFile(path: string): Promise<KeyFile> {
  const file = files.get(path) ?? openKeyFile(path)
  files.set(path, file)
  return file
}
