export { type KeyFile, type KeyFileOptions, openKeyFile } from './key-file/open-key-file.ts'
