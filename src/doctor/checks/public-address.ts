import { isLoopback } from '../../config/config.js';
import { listAuthorities } from '../../db/pki/authority-repository.js';
import type { AddressProbe } from '../address/address-probe.js';
import type { HttpAnswer } from '../address/http-answer.js';
import { failedChecks, readReport } from '../address/ready-report.js';
import type { Check, CheckContext } from '../check.js';
import { error, type Found, ok, warning } from '../finding.js';

const WHY = 'Devices fetch their commands at PUBLIC_URL; at any other address they do nothing.';

/** Whether devices reach this server at PUBLIC_URL. */
export const publicAddressCheck: Check = {
  name: 'public_address',
  needs: 'nothing',
  limitMs: 20_000,
  run: async (context) => {
    const { publicUrl } = context.config;
    const probe = await context.address();
    return [...plainHttp(context), ...reach(publicUrl, probe)];
  },
};

/** Whether it is this server that answers there, and not another Muster. */
export const sameServerCheck: Check = {
  name: 'same_server',
  needs: 'schema',
  limitMs: 20_000,
  run: async ({ config, db, address }) => {
    const { ready, authority } = await address();
    // The address check reports a server that is not Muster.
    if (ready === undefined || authority === undefined || !isMuster(ready)) return [];
    const authorities = await listAuthorities(db.knex);
    if (authorities.some(({ der }) => der.equals(authority))) {
      return [ok('same_server', `${config.publicUrl} answers with a CA of this database.`)];
    }
    const what = `${config.publicUrl} is answered by another Muster: its certificate authority is not in this database.`;
    const cure =
      'Set PUBLIC_URL to the address of this server, or DATABASE_URL and DATA_DIR to those of the other one.';
    const why = 'Devices enroll with the other server; what is queued here never reaches them.';
    return [error('public_address_other_server', { what, why, cure })];
  },
};

function plainHttp({ config }: CheckContext): Found[] {
  const url = new URL(config.publicUrl);
  if (url.protocol === 'https:') return [];
  const what = `PUBLIC_URL is ${config.publicUrl}: plain HTTP.`;
  if (isLoopback(url.hostname)) {
    const why = 'Only simulated devices on this machine enroll there; Apple devices need https.';
    const cure =
      'For real devices set PUBLIC_URL to an https address, see docs/real-devices.md. For a lab, leave it.';
    return [warning('public_address_plain_http', { what, why, cure })];
  }
  const why =
    'Apple devices refuse to enroll without TLS, and anybody on the way reads and changes what is sent.';
  const cure =
    'Put a TLS proxy in front or store a certificate (muster api POST /ssl_certificates), and set PUBLIC_URL to its https address.';
  return [error('public_address_plain_http', { what, why, cure })];
}

function reach(publicUrl: string, probe: AddressProbe): Found[] {
  const { unreachable, ready, httpFailure, tlsFailure } = probe;
  if (unreachable !== undefined) return [unreachableFinding(publicUrl, unreachable)];
  if (ready !== undefined) return [readiness(publicUrl, ready)];
  // A failed handshake is what the check of TLS reports.
  if (tlsFailure !== undefined && httpFailure === undefined) return [];
  const what = `${publicUrl} accepts connections but does not answer /readyz: ${httpFailure}.`;
  const cure =
    'Check that the proxy passes every path on to this server: curl -v PUBLIC_URL/readyz';
  return [error('public_address_no_answer', { what, why: WHY, cure })];
}

function unreachableFinding(
  publicUrl: string,
  { kind, reason }: NonNullable<AddressProbe['unreachable']>,
): Found {
  if (kind === 'name') {
    const what = `The name in PUBLIC_URL (${publicUrl}) cannot be resolved here: ${reason}.`;
    const cure = 'Add the name to DNS, or correct PUBLIC_URL. Check with: getent hosts NAME';
    return error('public_address_unresolved', { what, why: WHY, cure });
  }
  const what = `${publicUrl} cannot be reached from this machine: ${reason}.`;
  const cure =
    'Start the server and the proxy in front of it, and open the port in the firewall. If devices reach ' +
    'it and only this machine does not, let its name resolve to the local address here.';
  return error('public_address_unreachable', { what, why: WHY, cure });
}

function isMuster(ready: HttpAnswer): boolean {
  return [200, 503].includes(ready.status) && readReport(ready) !== undefined;
}

function readiness(publicUrl: string, ready: HttpAnswer): Found {
  const { status, location } = ready;
  const report = readReport(ready);
  if (status === 200 && report?.status === 'ready') {
    return ok('public_address', `${publicUrl}/readyz answers 200.`);
  }
  if (status === 503 && report !== undefined) {
    const what = `${publicUrl}/readyz answers 503: ${failedChecks(report)}.`;
    const cure =
      'See docs/operations.md, "Check that the server works", and the log for "not ready".';
    const why = 'Devices get 503 and come back later; until then nothing happens on them.';
    return error('public_address_not_ready', { what, why, cure });
  }
  const target = location === undefined ? '' : ` with a redirect to ${location.slice(0, 200)}`;
  const what = `${publicUrl}/readyz is answered by something else than Muster: ${status}${target}.`;
  const cure =
    'Correct PUBLIC_URL, or let the proxy pass every path on to this server without a redirect (docs/reverse-proxies.md).';
  return error('public_address_not_muster', { what, why: WHY, cure });
}
