/* The public interface: what a service imports. What is not here may change in any release. */

export { WebhooksModule } from './webhooks.module.js';
