import { createLogger } from '../../src/logger.js';
import { createApnsClient } from '../../src/push/apns/apns-client.js';
import { type BarePushes, measurePushes, type PushRate } from './bare-client.js';
import { magicOf, tokenOf } from './push-devices.js';
import type { PushTarget } from './stand-in-process.js';

/** Our client without the server around it. */
export async function measureClientAlone(
  target: PushTarget,
  amount: BarePushes,
): Promise<PushRate> {
  const { url: host, ca, topic, certificate, privateKey } = target;
  const credentials = { topic, certificate, privateKey, fingerprint: 'bench' };
  const client = createApnsClient({ host, ca, credentials, logger: createLogger('error') });
  try {
    return await measurePushes(amount, async (id) => {
      const push = { token: tokenOf(id), pushMagic: magicOf(id), topic };
      return (await client.push(push)).status === 200;
    });
  } finally {
    await client.close();
  }
}
