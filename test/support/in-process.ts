/* What the module `in-process` of a build has (bundle.js), from the sources. */

export * from '@resource-service/framework/testing';
export { AppModule } from '../../src/app.module.js';
