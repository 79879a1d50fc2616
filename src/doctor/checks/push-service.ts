import { reasonOf } from '../address/address-probe.js';
import { handshake } from '../address/tls-handshake.js';
import type { Check } from '../check.js';
import { error, type Found, ok } from '../finding.js';

const TIMEOUT_MS = 5_000;
const WHY =
  'Devices are not notified of their commands, and get them only when they poll by themselves.';

/** Whether Apple's push service can be reached from this machine: a handshake, no push. */
export const pushServiceCheck: Check = {
  name: 'push_service',
  needs: 'nothing',
  run: async ({ config, isLabOn, apnsCa }) => {
    if (isLabOn) return [ok('push_service', "Pushes go to the lab's stand-in, not to Apple.")];
    const { apnsHost } = config;
    const { protocol, hostname, port } = new URL(apnsHost);
    if (protocol === 'http:') return [ok('push_service', `Pushes go to a stand-in (${apnsHost}).`)];
    const host = hostname.replace(/^\[|\]$/g, '');
    const where = { host, port: Number(port || 443), timeoutMs: TIMEOUT_MS };
    const anchors = apnsCa === undefined ? [] : [apnsCa];
    try {
      const seen = await handshake({ ...where, anchors, alpn: ['h2'], minVersion: 'TLSv1.2' });
      return [seen.isTrusted ? reached(apnsHost) : intercepted(apnsHost, seen.distrust)];
    } catch (fault) {
      return [unreachable(apnsHost, reasonOf(fault))];
    }
  },
};

function reached(apnsHost: string): Found {
  return ok('push_service', `${apnsHost} can be reached.`);
}

function unreachable(apnsHost: string, reason: string): Found {
  const what = `Apple's push service (${apnsHost}) cannot be reached from this machine: ${reason}.`;
  const cure =
    'Allow HTTP/2 over TLS to it in the firewall, without a proxy, and check that its name resolves: getent hosts api.push.apple.com';
  return error('apns_unreachable', { what, why: WHY, cure });
}

/** A proxy between here and Apple terminates TLS, so Apple would not receive the push certificate. */
function intercepted(apnsHost: string, distrust: string | undefined): Found {
  const what = `What answers at ${apnsHost} is not trusted (${distrust}).`;
  const cure =
    'Exempt 17.0.0.0/8 from TLS inspection. For a stand-in of your own set APNS_CA_FILE to its CA.';
  return error('apns_not_trusted', { what, why: WHY, cure });
}
