// The declarations fit the code: tsc checks it.
import * as declared from 'feedstore';
import * as declaredReplica from 'feedstore/replica';
import * as code from '../../src/index.js';
import * as codeReplica from '../../src/replica.js';

const store: typeof declared.FeedStore = code.FeedStore;
const rejected: typeof declared.WriteRejected = code.WriteRejected;
const failed: typeof declared.WriteFailed = code.WriteFailed;
const replica: typeof declaredReplica.Replica = codeReplica.Replica;
const partition: typeof declaredReplica.ReplicaPartition = codeReplica.ReplicaPartition;
const fault: typeof declaredReplica.ReplicaFault = codeReplica.ReplicaFault;
const parse: typeof declaredReplica.parsedWithText = codeReplica.parsedWithText;
const hash: typeof declaredReplica.xxh32 = codeReplica.xxh32;
// Nothing is exported that is not declared.
const exported: keyof typeof declared = null as unknown as keyof typeof code;
void [store, rejected, failed, replica, partition, fault, parse, hash, exported];
