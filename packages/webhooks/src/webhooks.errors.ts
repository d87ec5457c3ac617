import { defineErrors } from '@resource-service/framework';

export const WEBHOOK_ERRORS = defineErrors([70, 79], {
  webhookAddressNotAllowed: {
    number: 40070,
    message: 'messages cannot be sent to the address',
    remedy: 'Use an https address of a public server',
  },
  webhookNotFound: {
    number: 40470,
    message: 'there is no webhook with this id',
    remedy: 'Create the webhook, or check the id',
  },
  deliveryNotFound: {
    number: 40471,
    message: 'there is no such delivery of the webhook',
    remedy: 'Check the id: only the last deliveries are kept',
  },
  tooManyWebhooks: {
    number: 40970,
    message: 'there are too many webhooks',
    remedy: 'Remove a webhook that is not needed',
  },
  deliveryPruned: {
    number: 41070,
    message: 'the change of the delivery is no longer kept',
    remedy: 'Read what is stored now',
  },
  tooManyTestMessages: {
    number: 42970,
    message: 'too many messages are being sent on request',
    remedy: 'Retry when other requests are done',
  },
  webhooksNotConfigured: {
    number: 50170,
    message: 'the service cannot keep the secrets of webhooks',
    remedy: 'Let the operator set WEBHOOK_SECRET_KEY',
  },
});
