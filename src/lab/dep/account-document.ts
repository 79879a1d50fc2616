import type { MdmServer } from './mdm-server.js';

const LIMIT = { default: 100, maximum: 1000 };

const URLS = [
  { uri: '/session', http_method: ['GET'] },
  { uri: '/account', http_method: ['GET'] },
  { uri: '/server/devices', http_method: ['POST'], limit: LIMIT },
  { uri: '/devices/sync', http_method: ['POST'], limit: LIMIT },
  { uri: '/devices', http_method: ['POST'] },
  { uri: '/devices/disown', http_method: ['POST'] },
  { uri: '/device/activationlock', http_method: ['POST'] },
  { uri: '/profile', http_method: ['POST', 'GET'] },
  { uri: '/profile/devices', http_method: ['DELETE', 'POST', 'PUT'] },
];

/** Whose server it is, as GET /account tells it. */
export function accountDocument({ name, uuid }: MdmServer): object {
  return {
    server_name: name,
    server_uuid: uuid,
    facilitator_id: 'admin@lab.example',
    admin_id: 'admin@lab.example',
    org_name: 'Muster Lab',
    org_email: 'it@lab.example',
    org_phone: '+1 555 010 0100',
    org_address: '1 Loopback Road, Localhost',
    org_id: '127001',
    org_id_hash: '01lab127001lab127001lab127001lab127001lab127001lab12',
    urls: URLS,
    org_type: 'org',
    org_version: 'v2',
  };
}
