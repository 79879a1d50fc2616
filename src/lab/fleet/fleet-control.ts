import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { z } from 'zod';
import { BEHAVIOR_NAMES, type Behavior } from '../devices/behavior.js';
import {
  ControlFault,
  isLocalProgram,
  readBody,
  sendFault,
  sendJson,
} from '../wire/control-http.js';

/** A device of a fleet, as its control shows it. */
export interface ControlledDevice {
  serial_number: string;
  behavior: Behavior;
  is_enrolled: boolean;
}

/** The part of a fleet that its control needs. */
export interface ControlledFleet {
  devices(): ControlledDevice[];
  /** Changes the behavior of one device, or of all without a serial number. Returns the changed devices. */
  behave(behavior: Behavior, serialNumber: string | undefined): Promise<ControlledDevice[]>;
}

export interface FleetControl {
  url: string;
  close(): void;
}

const BODY = z.strictObject({
  behavior: z.enum(BEHAVIOR_NAMES).exclude(['half-enrolled']),
  serial_number: z.string().optional(),
});

/** Listens on loopback for programs that change how the devices behave. Rejects if the port is in use. */
export async function openFleetControl(
  port: number,
  fleet: ControlledFleet,
): Promise<FleetControl> {
  const server = createServer((request, response) => {
    if (!isLocalProgram(request)) response.writeHead(403).end();
    else serve(fleet, request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, '127.0.0.1', resolve);
  });
  const { port: bound } = server.address() as AddressInfo;
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${bound}`, close };
}

async function serve(
  fleet: ControlledFleet,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    if (request.url !== '/devices') throw new ControlFault(404, '/devices');
    if (request.method === 'GET') sendJson(response, 200, fleet.devices());
    else if (request.method === 'POST') sendJson(response, 200, await change(fleet, request));
    else throw new ControlFault(405, 'GET, POST');
  } catch (error) {
    sendFault(response, error);
  }
}

async function change(fleet: ControlledFleet, request: IncomingMessage) {
  const { behavior, serial_number: serialNumber } = await readBody(request, BODY);
  const changed = await fleet.behave(behavior, serialNumber);
  if (changed.length === 0) throw new ControlFault(404, `no device ${serialNumber}`);
  return changed;
}
