import type { PlistInput } from '../../src/protocol/plist/plist.js';
import { TOPIC } from './fleet.js';

type Message = { [key: string]: PlistInput };

export function authenticate(udid: string): Message {
  return {
    MessageType: 'Authenticate',
    Topic: TOPIC,
    UDID: udid,
    DeviceName: 'Benchmark Mac',
    Model: 'Mac14,2',
    ModelName: 'MacBook Air',
    ProductName: 'Mac14,2',
    OSVersion: '14.6.1',
    BuildVersion: '23G93',
    SerialNumber: `B${udid.replaceAll('-', '').slice(0, 11)}`,
  };
}

export function tokenUpdate(udid: string): Message {
  return {
    MessageType: 'TokenUpdate',
    Topic: TOPIC,
    UDID: udid,
    AwaitingConfiguration: false,
    PushMagic: udid,
    Token: Buffer.from(udid.replaceAll('-', '').repeat(2), 'hex'),
  };
}

export function idle(udid: string): Message {
  return { Status: 'Idle', UDID: udid };
}

/** About 1 KB, as a device answers DeviceInformation. */
export function acknowledged(udid: string, commandUuid: string): Message {
  return {
    CommandUUID: commandUuid,
    Status: 'Acknowledged',
    UDID: udid,
    QueryResponses: {
      UDID: udid,
      DeviceName: 'Benchmark Mac',
      HostName: 'benchmark-mac.example.com',
      Model: 'Mac14,2',
      ModelName: 'MacBook Air',
      ProductName: 'Mac14,2',
      OSVersion: '14.6.1',
      BuildVersion: '23G93',
      DeviceCapacity: 494.384,
      AvailableDeviceCapacity: 121.75,
      BatteryLevel: 0.81,
      WiFiMAC: '3c:06:30:12:34:56',
      BluetoothMAC: '3c:06:30:12:34:57',
      IsSupervised: true,
    },
  };
}
