import type { ScenarioResult } from './scenario.js';
import { type Served, type ServedFleetOptions, servedFleet } from './served-fleet.js';

/** kill -9 of one of two processes that serve a fleet; another one replaces it. */
export function twoProcesses(
  options: Pick<ServedFleetOptions, 'databaseUrl' | 'devices' | 'commandsPerDevice'>,
): Promise<ScenarioResult> {
  const name = 'two processes serve one fleet, kill -9 of one';
  return servedFleet({ ...options, name, disturb: replaceFirst });
}

async function replaceFirst({ servers, ports, start }: Served) {
  const killedAt = performance.now();
  await servers[0]?.kill();
  ports[0] = (await start()).port;
  return { awaySeconds: (performance.now() - killedAt) / 1000 };
}
