import { type Config, isLoopback } from '../../config/config.js';
import type { Check, CheckContext } from '../check.js';
import { error, type Found, ok, warning } from '../finding.js';

/** Settings that are valid, but contradict each other or the server's environment. */
export const settingsCheck: Check = {
  name: 'settings',
  needs: 'nothing',
  run: (context) => {
    const { config } = context;
    const faults = [
      ...configurationFindings(context.fileProblems),
      ...unknownFaults(config),
      ...portFaults(config),
      ...proxyFaults(context),
      ...clientCertificateFaults(context),
      ...databaseFaults(config),
    ];
    return faults.length > 0
      ? faults
      : [ok('settings', 'The settings do not contradict each other.')];
  },
};

/** Each problem names its variable first. */
export function configurationFindings(problems: readonly string[]): Found[] {
  return problems.map((problem) => {
    const why = 'The server does not start with it.';
    const cure = 'Correct it in the environment or in .env (docs/configuration.md).';
    return error('configuration_invalid', { what: `${problem}.`, why, cure });
  });
}

function unknownFaults({ unknownSettings }: Config): Found[] {
  return unknownSettings.map(({ name, nearest }) => {
    const what = `${name} is no setting and has no effect.`;
    const cure =
      nearest === undefined
        ? `Remove ${name}; docs/configuration.md lists all settings.`
        : `Rename ${name} to ${nearest}.`;
    const why = 'The server runs with the default instead of what you meant.';
    return warning('setting_unknown', { what, why, cure });
  });
}

function portFaults({ publicUrl }: Config): Found[] {
  if (new URL(publicUrl).port !== '0') return [];
  const what = `PUBLIC_URL (${publicUrl}) ends in port 0.`;
  const why = 'Devices cannot reach that port.';
  return [error('public_url_port_0', { what, why, cure: 'With PORT=0 set PUBLIC_URL, too.' })];
}

/** Behind a proxy that is not named, all clients seem to come from its address. */
function proxyFaults({ config, servesTls }: CheckContext): Found[] {
  const { publicUrl, trustProxy, storedTls, role } = config;
  // TLS=auto without a certificate is the warning https_without_certificate.
  const isProxied = publicUrl.startsWith('https:') && !servesTls && !storedTls;
  if (!isProxied || trustProxy.length > 0 || role === 'worker') return [];
  const what =
    'PUBLIC_URL is https and TLS=off, so that a proxy ends TLS, but TRUST_PROXY is empty.';
  const why =
    'Every request seems to come from the proxy: one client that fails to sign in locks out all others, ' +
    'and the audit trail lacks addresses.';
  const cure = 'Set TRUST_PROXY to the address of the proxy (docs/reverse-proxies.md).';
  return [warning('trust_proxy_empty', { what, why, cure })];
}

function clientCertificateFaults({ config, servesTls }: CheckContext): Found[] {
  if (!config.tlsClientCert || servesTls) return [];
  const what = 'TLS_CLIENT_CERT=on has no effect: this server speaks plain HTTP.';
  const why = 'Devices are not asked for their certificate in the handshake.';
  const cure =
    'Give Muster a certificate, or use CLIENT_CERT_HEADER behind a proxy (docs/reverse-proxies.md).';
  return [warning('tls_client_cert_without_tls', { what, why, cure })];
}

const ENCRYPTED = ['require', 'verify-ca', 'verify-full', 'no-verify'];

function databaseFaults({ databaseUrl }: Config): Found[] {
  if (databaseUrl === undefined) return [];
  const { hostname, searchParams } = new URL(databaseUrl);
  const host = searchParams.get('host') ?? hostname;
  // A name without a dot is a container on the same Docker network, as in docker-compose.yml.
  const isLocal = host.startsWith('/') || isLoopback(host) || !/[.:]/.test(host);
  const mode = searchParams.get('sslmode') ?? '';
  const isOverTls = ENCRYPTED.includes(mode) || /^(1|true)$/.test(searchParams.get('ssl') ?? '');
  if (isLocal || isOverTls) return [];
  const what = `DATABASE_URL names another host (${host}) without TLS.`;
  const why = 'The password and all that is stored cross the network in clear text.';
  const cure = 'Turn on ssl in PostgreSQL and add ?sslmode=verify-full to DATABASE_URL.';
  return [warning('database_without_tls', { what, why, cure })];
}
