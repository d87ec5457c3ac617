declare module 'class-transformer/cjs/storage.js' {
  export * from 'class-transformer/types/storage.js';
}
