// Every bound of the server, with unit and reason. A queue, a size or a time without a line here has no bound,
// and that is a bug. Relations between bounds are asserted at the end.
import { assert } from "../base/assert.ts";
import { flowLimits } from "./flowlimits.ts";

const KiB = 1024;
const MiB = 1024 * KiB;

/** Bounds; units end the names. */
export const limits = {
  /** Request bodies (upstream: 3 MiB, 413 beyond). */
  bodyBytesMax: 3 * MiB,
  ...flowLimits,
  /** Requests of a front that have no seat yet, being authenticated (by address), authorized or received: a few KiB each; 429 beyond a share. */
  arrivalsMax: 10_000,
  /** Bytes of request bodies of a front, from their first until the answer; 429 beyond a user's share. */
  arrivingBytesMax: 256 * MiB,
  /** Bytes of a body that are read before it is asked for, one read of the uws build (512 KiB) beyond: no user is charged for them. */
  earlyBodyBytesMax: 64 * KiB,
  /** Stored objects, as upstream's store limits a request. */
  objectBytesMax: 1.5 * MiB,
  /** Bodies of objects that are not stored: reviews, token requests, bindings, evictions, DeleteOptions. */
  smallBodyBytesMax: 64 * KiB,
  /** Values in a body (objects, lists, their items and fields), counted while it is read: each takes up to 1.5 KiB. */
  bodyValuesMax: 250_000,
  /** Parts that bodies share (codec/proto/templates.ts): bytes of such a body, values of a part, values added to it, bytes
   * a value counts beside its own, characters of FieldsV1 beyond twice the bytes, and all that a thread keeps. */
  templateBytesMax: 16 * KiB,
  templateValuesMax: 1000,
  templateDefaultsValues: 100,
  templateValueBytes: 128,
  templateDefaultsChars: 2048,
  templatesBytesMax: 8 * MiB,
  /** Names of items that are kept for one list of a kind, as FieldsV1 writes them, and characters of one. */
  itemNamesMax: 256,
  itemNameCharsMax: 100,
  /** Bytes read and discarded of a body that is too large, so that its sender reads the response. */
  bodyDiscardBytesMax: 16 * MiB,
  /** Faults of a configuration file that are shown, and characters of a value or key that one repeats. */
  fileFaultsMax: 8,
  fileShownCharsMax: 100,
  /** Levels of a configuration file that are checked: its formats need eight, and none is deeper. */
  fileDepthMax: 64,
  /** JSON and YAML nesting (upstream: 10,000). */
  depthMax: 10_000,
  /** Levels an answer, an event or an object of ours puts around a client's document, at most: typed messages nest to 500. */
  ownDepthMax: 1_000,
  /** Levels of an answer for people that are indented; deeper values are compact, so that the size stays linear. */
  indentedDepthMax: 100,
  /** Characters of an object of raw JSON that is remembered: it cannot nest as deep as `depthMax`. */
  rawCharsMax: 16 * KiB,
  /** Characters of all of them, per thread: with their values, about 30 bytes each. */
  rawRememberedCharsMax: 256 * KiB,
  /** Messages within messages a strategic merge patch descends into; no kind needs a tenth of it. */
  strategicDepthMax: 500,
  /** Nesting of a managedFields entry that is read; entries beyond are dropped, as other malformed ones are. */
  managedFieldsDepthMax: 500,
  /** Typed messages within one another; only schemas of custom resources nest at will, and they use the thread's stack. */
  messageDepthMax: 500,
  /** Unknown and duplicate fields named in one answer (upstream: 100). */
  strictFaultsMax: 100,
  /** YAML nodes made by aliases: enough for a file that repeats itself, too few for a bomb. */
  yamlAliasedNodesMax: 50_000,
  /** JSON patch operations (upstream: 10,000, 413 beyond). */
  patchOperationsMax: 10_000,
  /** Bytes a JSON patch may copy (upstream: the body limit). */
  patchCopyBytesMax: 3 * MiB,
  /** List items one JSON patch may shift to make or close gaps: about 100 ms of a front. */
  patchShiftedItemsMax: 20_000_000,
  /**
   * Body and stored object of a write that a front merges itself; the pool does beyond: 7 ms, 20 where items are tiny.
   * The same of JSON it prints as protobuf, YAML or for people, and of a write between whose steps others get a turn.
   */
  mergeHereBytesMax: 160 * KiB,
  /** Spans of requests that a front keeps until main takes them, and that wait there for the collector: 1 KiB each. */
  spansKeptMax: 4_096,
  spansWaitingMax: 8_192,
  /** A collector answers within so many milliseconds; one that failed is asked again after at most that long. */
  spansExportMsMax: 10_000,
  spansPauseMsMax: 30_000,
  /** How often the log tells of a collector that fails, and how long a server that ends waits for it, milliseconds. */
  spansFailureSaidMs: 60_000,
  spansEndMsMax: 2_000,
  /** Threads of a front's pool, from the first task on; the default of --pool-workers. */
  poolThreadsMax: 2,
  /** Bytes of definitions whose schemas a pool thread keeps compiled, for merges of custom objects. */
  poolDefinitionsBytesMax: 8 * MiB,
  /** Tasks that wait for one, of all users, 429 beyond a user's share; a merge holds its body and its object, up to 4.5 MiB. */
  poolQueueMax: 32,
  /** A task that runs longer ends with its thread, in milliseconds: the largest objects take a second on a busy machine. */
  poolTaskMsMax: 20_000,
  /** A thread that takes longer to start is ended, in milliseconds: half a second, many on a machine without a free core. */
  poolStartMsMax: 60_000,
  /** A user whose task ended a thread gets 429 for this long, in milliseconds: a thread takes 0.2 s of CPU to start. */
  poolPauseMs: 10_000,
  /** A thread without work for this long ends, in milliseconds. */
  poolIdleMs: 30_000,
  /** Heap of such a thread; the largest objects take about 100 MiB. */
  poolHeapMiBMax: 512,
  /**
   * Memory of young objects of the store thread, MiB. Buffers of some KiB lie outside of it, and are freed when it is
   * collected: with V8's 48 MiB they pile up until V8 marks the whole heap, seven times a second at 1,800 creates.
   */
  storeYoungMiBMax: 6,
  /** A pod waits this long for its namespace's account `default`, in milliseconds (upstream: ten looks, 100 to 200 ms apart). */
  defaultAccountWaitMsMax: 1_000,
  /** Tolerations of a pod and its runtime class that are made one list: every pair is compared, about 30 ms. */
  tolerationsMergedMax: 1_000,
  /** Keys EventRateLimit counts by where its settings do not say (upstream: 4096), and at most; up to twice as many are kept, about 100 bytes each. */
  eventBuckets: 4_096,
  eventBucketsMax: 1_000_000,
  /** Addresses of one Endpoints object; the list is cut there (document: well-known annotations). */
  endpointsMax: 1_000,
  /** Addresses of a subset that are mirrored to a slice (upstream: mirroring-max-endpoints-per-subset). */
  mirroredEndpointsMax: 1_000,
  /** Slices one Endpoints object is mirrored to: each has all of its labels and annotations, which may be 256 KiB. */
  mirroredSlicesMax: 100,
  /** Unconfirmed evictions a disruption budget records (upstream: 2000). */
  disruptedPodsMax: 2_000,
  /** Addresses or ports looked at for a free one before a range counts as full: the whole of any port range. */
  claimProbesMax: 65_536,
  /** Claims without a service that are older are released, in milliseconds: a write takes far less between the two. */
  claimAgeMsMax: 60_000,
  /** How often events past their time to live are looked for. */
  eventLookMs: 1_000,
  /** Events removed per look: 1,000 a second, the rate at which upstream's store revokes leases. */
  eventRemovalsPerLookMax: 1_000,
  /** Of these, under way at once. */
  eventRemovalsAtOnceMax: 16,
  /** Events whose expiry is scheduled, about 200 bytes each; beyond, events are read again when there is room. */
  eventsKeptMax: 500_000,
  /** Events a recorder remembers, and objects and namespaces they are of, about 200 bytes each (upstream: 4,096). */
  eventsRememberedMax: 4_096,
  /** Events of one object and reason that differ in their message, in this time, are told as one from this one on (upstream: 10). */
  eventsSimilarMax: 10,
  eventsSimilarMs: 600_000,
  /** Writes of events one controller has for one object at once, and per second in the long run (upstream: the same). */
  eventsPerObjectMax: 25,
  eventsPerObjectPerSecond: 1 / 300,
  /** Writes of controllers' events in one namespace, and of all (upstream: what its client is allowed, 20 a second). */
  eventsPerNamespaceMax: 100,
  eventsPerNamespacePerSecond: 0.2,
  eventsAtOnceMax: 500,
  eventsPerSecond: 20,
  /** Controllers' events that wait to be written, up to 3 KiB each; further ones are dropped (upstream: 1,000). */
  eventsPendingMax: 1_000,
  /** Of these, being written at once. */
  eventWritesMax: 4,
  /** Tries to write an event that the server cannot take at the moment (upstream: 12). */
  eventTriesMax: 12,
  /** Bytes of an event's message (document: those of `events.k8s.io`); the rest is cut off. */
  eventMessageBytesMax: 1_024,
  /** Time for events that wait when the server ends, in milliseconds. */
  eventsEndMs: 1_000,
  /** Time for what controllers have under way when the server ends, in milliseconds. */
  reconcileEndMs: 2_000,
  /** Changes in a terminating namespace are gathered this long before it is looked at again. */
  namespacePassMsMin: 50,
  /** A namespace that cannot go yet is looked at again by then, news or not. */
  namespacePassMsMax: 15_000,
  /** Terminating namespaces that are worked on at once (upstream: 10): an extension server that hangs holds up its own. */
  namespacePassesMax: 8,
  /** Objects of a terminating namespace that are looked up and deleted at once; then others get a turn. */
  namespaceDeletesMax: 1_000,
  /** Objects the garbage collector deletes, releases or lets go at once: they share commits, and leave room for clients. */
  collectorWorkersMax: 16,
  /** Owners of one object that are looked at in the turn it is noted in: up to 0.1 ms each. Objects with more are looked at later. */
  collectorOwnersPerLook: 32,
  /** Objects whose owner may be in another namespace and which wait to be looked at; of more, no event tells. */
  collectorStrayMax: 1_000,
  /** Searches of all namespaces for such an owner, at once and per second: 1 to 2 us for each namespace. */
  collectorSearchesMax: 25,
  collectorSearchesPerSecond: 2,
  /** An owner that waits for its dependents is looked at this long after one of them changed, in milliseconds. */
  collectorGatherMs: 20,
  /** All kinds are looked at this long after a definition changed, in milliseconds: definitions come by the dozen. */
  collectorKindsGatherMs: 250,
  /** Dependents that were looked at for each further millisecond it waits: 3 us each, and then others have ten times as long. */
  collectorDependentsPerMs: 30,
  /** A claim that is in use is looked at this long after a pod of its namespace changed, in milliseconds. */
  protectionGatherMs: 50,
  /** Nodes, pods and zones the controller of nodes works on at once. */
  nodeWritesMax: 8,
  /** All pods are looked through for those of lost nodes at most this often, in milliseconds: 50 ms of CPU for 150,000. */
  nodePodsScanMs: 250,
  /** Pods of a node that is gone are removed after this, in milliseconds (upstream: 40 s). */
  nodeMissedMs: 40_000,
  /** Pods that finished are counted this long after another one did, in milliseconds (upstream: every 20 s). */
  podGarbageLookMs: 20_000,
  /** Pods that finished and are kept (upstream: 12,500). */
  finishedPodsMax: 12_500,
  /** Deleted kinds the garbage collector remembers, at all their versions, about 200 bytes each; the oldest go first. */
  endedKindsMax: 10_000,
  /** Objects of a kind that goes are deleted so many at a time. */
  definitionPageMax: 500,
  /** A kind that goes and still holds objects is emptied again this often, in milliseconds. */
  definitionPassMs: 10_000,
  /** The log of a kind that goes is tried again after this when a change was under way, in milliseconds. */
  definitionLogMs: 50,
  /** A definition for which there was no log is tried again this often, in milliseconds. */
  definitionRetryMs: 5_000,
  /** A kind that could not be emptied in this time says so, in milliseconds (upstream: a minute). */
  definitionEmptyMsMax: 60_000,
  /** Definitions worked on at once. */
  definitionsAtOnce: 16,
  /** APIServices that are made or put right at once. */
  registrationsAtOnce: 16,
  /** APIServices whose availability is looked at once, each with up to five connections; and of those that took long. */
  availabilityChecksMax: 32,
  availabilitySlowMax: 16,
  /** A check that took longer than this takes long, in milliseconds; one that finds no room is put off for as long. */
  availabilitySlowMs: 1_000,
  /** An extension server is asked again this often, in milliseconds (upstream: 30 s), and not more often than that. */
  availabilityLookMs: 30_000,
  availabilityGapMs: 250,
  /** One that does not answer is asked again after this, in milliseconds; doubled with each time, up to the above. */
  availabilityRetryMs: 1_000,
  /** Attempts of one check (upstream: 5), and the time the first has before the others begin, in milliseconds. */
  discoveryAttempts: 5,
  discoveryHeadStartMs: 500,
  /** Characters of a message in a condition: names and addresses are shorter. */
  conditionMessageCharsMax: 2_048,
  /**
   * Corrections of one object that follow each other at once; then the pause between two of them, in milliseconds, doubled
   * with each. They are counted anew after a time without one.
   */
  correctionsFree: 3,
  correctionMsMin: 500,
  correctionMsMax: 30_000,
  correctionForgetMs: 60_000,
  /** Objects whose corrections one controller counts, about 200 bytes each. */
  correctionsMax: 10_000,
  /** Deletes of one deletecollection that are under way at once. */
  collectionDeletesMax: 32,
  /** Names and keys beyond this are refused for their length alone: a pattern takes up to 0.1 µs per character. */
  patternCharsMax: 64 * KiB,
  /** Characters of a quantity; upstream has no limit, and its time grows with the square. */
  quantityCharsMax: 2 * KiB,
  /** Characters of a duration in Go's spelling, which upstream does not limit. */
  durationCharsMax: 1 * KiB,
  /**
   * Schemas of a definition, those within others included, and the items of their lists: up to 1 µs each in one turn of a
   * front. The largest in use have about 10,000.
   */
  definitionSchemasMax: 15_000,
  /** Steps of checking all defaults of a definition by their schemas, up to 0.3 µs each; large ones in use take 5,000. */
  schemaDefaultStepsMax: 50_000,
  /** Characters of a pattern in the schema of a custom resource: the longest in use is a tenth of it. */
  schemaPatternCharsMax: 8 * KiB,
  /** Instructions of all patterns of one definition, up to 5 µs each; large definitions in use have 3,000. */
  schemaPatternCostMax: 10_000,
  /** Characters of patterns whose faults a thread remembers, to say the same of the next definition. */
  schemaPatternsKeptChars: 256 * KiB,
  /** Bytes of the compiled patterns of all schemas, per thread; beyond, they are compiled again. */
  schemaProgramBytesMax: 8 * MiB,
  /** Bytes that their automata may gather in matching, per thread; beyond, they are emptied. */
  schemaAutomatonBytesMax: 16 * MiB,
  /** Steps of one walk of a custom object by its schema, up to 0.3 µs each: the largest ordinary objects take a third. */
  schemaStepsMax: 3_000_000,
  /** Characters of a rule of a custom resource (`x-kubernetes-validations`): the longest in use have a few hundred. */
  ruleCharsMax: 8 * KiB,
  /** Expressions within one another in a rule, each some calls of the thread's stack. */
  ruleDepthMax: 200,
  /** Expressions of one rule. */
  ruleNodesMax: 4_000,
  /**
   * Expressions of all rules of a definition: up to 0.5 µs each to compile, and 150 bytes on each front that evaluated
   * them. Large definitions in use have 3,000.
   */
  definitionRuleNodesMax: 15_000,
  /**
   * Units that evaluating one rule may cost, and all rules of one object. A unit takes 5 to 20 ns, and up to 60 where
   * code runs for the first time, so that an object takes 5 ms, and 15 at worst.
   */
  ruleUnitsMax: 200_000,
  objectRuleUnitsMax: 250_000,
  /** Values looked at for one cell of a table of custom objects: all of a large object, once. */
  jsonPathStepsMax: 100_000,
  /** Combinations of verbs, groups, resources and names a role may grant that its writer's rules do not cover whole. */
  ruleCombinationsMax: 10_000,
  /** Texts of rules compared to check that a user holds the rules of a role: about 20 ms. */
  ruleComparisonsMax: 4_000_000,
  /** Bytes of body and stored object from which the object is measured before it is validated: defaults make 30 of one. */
  measuredBytesMin: 48 * KiB,
  /** Annotations, keys plus values (upstream: 256 KiB). */
  annotationsBytesMax: 256 * KiB,
  /** Faults of one object that are looked for and answered; upstream has no limit, and its answers outgrow requests. */
  fieldErrorsMax: 1_000,
  /** Characters of the faults named in one answer, which has them twice. */
  fieldErrorCharsMax: 512 * KiB,
  /** Characters of an answer's Warning texts together; beyond, each is cut (upstream: 4,096 and 256). */
  warningCharsMax: 4_096,
  /** Characters each is then cut to. */
  warningTextCharsMax: 256,
  /** Characters of a bad value that an error repeats. */
  shownCharsMax: 2 * KiB,
  /** Everything but watches ends by then (upstream: 60 s). */
  requestMsMax: 60_000,
  /** Wait for a resource version that is not there yet (upstream: 3 s). */
  freshnessWaitMsMax: 3_000,
  /** Wait for a store that other servers write to say how recent a read must be; 504 beyond. */
  recentMsMax: 3_000,
  /** Questions of a front about that without an answer; those who ask beyond share the next one. */
  recentQuestionsMax: 4,
  /** Records of the store's own past that are read at once, for lists older than the logs. */
  pastPageRecords: 500,
  /** Bytes of such a list, which is kept until it is written: a larger one is too old (410). */
  pastListBytesMax: 32 * MiB,
  /** Bytes of all of them on a front; 429 beyond a user's share. */
  pastBytesMax: 128 * MiB,
  /** Watch history and continue tokens (document: five minutes). */
  historyMsMin: 300_000,
  /** Revisions of an etcd cluster's history that are read at the start: ten minutes of 150 writes a second. */
  etcdHistoryRevisionsMax: 100_000,
  /** Events of an etcd cluster that are kept while its state is read at the start: a minute of 300 writes a second. */
  etcdEarlyEventsMax: 20_000,
  /** Times the store is read anew at the start because what was read was compacted meanwhile. */
  loadAttemptsMax: 10,
  /** Batches of changes that wait for etcd at once. */
  etcdCommitsMax: 64,
  /**
   * Revisions by which a cluster is raised at most, by so many writes, before objects of another store are moved to it: a
   * quarter of an hour.
   */
  etcdRaiseMax: 10_000_000,
  /** Such writes at once. */
  etcdRaisesAtOnce: 256,
  /** Objects of a move that are written at once. */
  movedAtOnceMax: 500,
  /** Time for the first answer of an etcd cluster. */
  etcdOpenMs: 20_000,
  /** Time for a question to etcd that another member may answer. */
  etcdReadMs: 4_000,
  /** Time for a write to etcd; what is not answered by then is in doubt. */
  etcdWriteMs: 10_000,
  /** Time for a page of objects from etcd. */
  etcdPageMs: 30_000,
  /** Time until the watch of etcd must have told a write that etcd has answered. */
  etcdTellMs: 5_000,
  /** Time the answer or the event of a write may take after its leader or its member was lost. */
  etcdDoubtMs: 1_000,
  /** How often etcd is asked whether it is there. */
  etcdBeatMs: 1_000,
  /** Time after which the watch of etcd is asked how far it is; twice as long each time, up to twenty times. */
  etcdNudgeMs: 3,
  /** Dead records a log keeps, per resource prefix; the limit wins over the five minutes. */
  historyBytesMax: 256 * MiB,
  /** Signatures checked for one client's chain: about 0.1 ms each, 1.5 ms for the largest RSA keys. Ten authorities of
   * one name take 21. */
  chainSignaturesMax: 32,
  /** Names and attributes read of a signing request, about 2 us each (upstream has no limit): 422 beyond. */
  requestNamesMax: 5_000,
  /** Bytes of a signing request, in PEM, that is signed: 1,000 names take 30 KiB. Request and certificate are one object. */
  signedRequestBytesMax: 256 * KiB,
  /** Signing requests one controller works on at once: signing takes 0.2 ms, or 1 ms with an RSA key, and its commit 2 ms. */
  signingRequestsAtOnce: 8,
  /** One signing waits and works this long in the pool, in milliseconds; then it is tried again. */
  signingMsMax: 10_000,
  /**
   * A node's request that nothing grants is looked at again after as long as it has been there, in these bounds, in
   * milliseconds (upstream: 0.2 s, doubling to 1,000 s).
   */
  approvalLookMsMin: 200,
  approvalLookMsMax: 300_000,
  /** Signing requests are deleted so long after they were issued, denied or failed, and without any decision (document). */
  decidedRequestMsMax: 3_600_000,
  pendingRequestMsMax: 86_400_000,
  /** Certificates a client may send besides its own. */
  chainCertificatesMax: 10,
  /** Tokens a front remembers the users of; about 400 bytes each (upstream: 32 shards of 4,096 in a process). */
  tokenCacheMax: 16_384,
  /** How long the user of a token is remembered (upstream: ten seconds). */
  tokenCacheMsMax: 10_000,
  /**
   * Bytes of answers of a front kept for peers that do not take them: a chunk for each running list, the rest of
   * whole answers. Beyond a user's share its lists get 429, and its connections that hold whole answers are cut.
   */
  unreadBytesMax: 256 * MiB,
  /** Between two questions for the keys of an identity provider. */
  oidcFetchMsMin: 10_000,
  /** One such question. */
  oidcFetchMsMax: 10_000,
  /** Keys taken of a provider. */
  oidcKeysMax: 100,
  /**
   * Token reviews a front has under way at a webhook; 429 beyond the share of an address, or of a user that creates
   * reviews.
   */
  tokenReviewsMax: 1_000,
  /** One of them, each of up to five tries. */
  tokenReviewMsMax: 10_000,
  /** Certificates of clients a front keeps read, 2 KiB each: one is 20 us to read, and shown at every request. */
  peerCertificatesMax: 4_096,
  /** Replaced certificates of the uws front whose connections stay open; those of older ones are cut. */
  retiredListenersMax: 8,
  /** How often a certificate of our own making is looked at; it is replaced 30 days before its end. */
  certificateLookMs: 3_600_000,
  /** How often certificate files are looked at for a change. */
  fileLookMs: 10_000,
  /** Characters of the name of an unreadable query parameter that its refusal shows. */
  unreadableNameCharsMax: 100,
  /** Request line plus headers; also passed to the uWS build. */
  headBytesMax: 64 * KiB,
  /** Header fields; the uWS build has room for 98. */
  headerCountMax: 96,
  /** Connections of a front, and the least it starts with: 5 to 30 KiB each. Beyond, further ones are closed at once. */
  connectionsMax: 160_000,
  connectionsMin: 4,
  /**
   * Connections of a front that have not sent a request yet, closed beyond an address's share: all nodes of a large cluster
   * that come back at once. The uws build ends those that send nothing after 10 s, the node front after headMsMax.
   */
  quietConnectionsMax: 10_000,
  /** Parts of them: for those without a request, for watches, for requests without a seat; answers beyond the last one close. */
  quietPart: 0.25,
  watchingPart: 0.625,
  arrivingPart: 0.25,
  crowdedPart: 0.75,
  /** Descriptors of a front thread and its listeners, before its first connection (6 measured). */
  frontDescriptors: 8,
  /** Descriptors kept for webhooks, merging threads, audit and files read again: half of the others, at most so many. */
  reservedDescriptorsMax: 1_024,
  /** Logs there may ever be, custom resources included: one cache line each in the control buffer. */
  logCountMax: 4096,
  /** Bytes of recycled segments kept for reuse; the rest goes back to the machine. */
  poolBytesMax: 64 * MiB,
  /** Header fields on the node front. */
  headerCountNodeMax: 1_000,
  /** Requests under way on one connection (node front; the uWS build closes on a second one). */
  pipelinedMax: 64,
  /** A TLS handshake, or a request head, is complete by then. */
  headMsMax: 15_000,
  /** A connection without a request is closed after this (upstream: 90 s; the uWS build: 10 s). */
  idleMsMax: 90_000,
  /** A peer that takes nothing of a whole answer is cut after this (the uWS build: 10 s). */
  stallMsMax: 30_000,
  /** Bytes a stream of the node front may hold for its peer before it counts as behind. */
  streamBufferBytesMax: 512 * KiB,
  /** Streams ended per second when the server goes down, all fronts together: their clients come back elsewhere. */
  streamsEndedPerSecond: 2_000,
  /** A signal that asks for the end is the first one again when it comes this soon after it, in milliseconds. */
  signalRepeatMs: 1_000,
  /** Requests under way get this long to finish when the server goes down (upstream: 60 s). */
  drainMsMax: 60_000,
  /** A front that drains is done when no request came for this long: one that was on its way still gets its 503. */
  drainQuietMs: 200,
  /** Pause before the creation of the initial objects is retried, in milliseconds. */
  bootstrapRetryMs: 1_000,
  /** A front listens after this also when the namespaces of the start could not be created. */
  bootstrapMsMax: 3_000,
  /** Pause between looks whether the server is ready. */
  readyLookMs: 20,
  /** When a thread writes what it compiled, after it was loaded. */
  compiledKeptMs: 30_000,
  /** Time of a front to end on request. */
  frontEndMsMax: 1_000,
  /** Pause before a front that crashed twice in a row is started again; doubled with each further crash. */
  frontPauseMsMin: 100,
  /** The longest such pause: a crashing front costs a start every half minute, half a second of a core. */
  frontPauseMsMax: 30_000,
  /** A front that ran this long before it crashed is started again at once. */
  frontSteadyMs: 60_000,
  /**
   * Heap of a front: the index of ten million objects, and as much again for requests. Bodies, answers and the log itself
   * are not in it. A front that needs more ends alone; without a limit the whole process would.
   */
  frontHeapMiBMax: 4_096,
  /** Memory of young objects of a front, MiB. A create leaves 150 KiB to collect: with V8's 48 MiB it costs 9 % more. */
  frontYoungMiBMax: 96,
  /** The part of it that may be in use after a collection; a front beyond ends in order and is started again. */
  heapFullPart: 0.75,
  /** A health check of the store waits this long for its thread (upstream: 2 s). */
  storeProbeMsMax: 2_000,
  /** How often a front leaves a sign that it turns, and after how many seconds without one it counts as hung. */
  frontBeatMs: 500,
  frontHungSeconds: 10,
  /** How often the heap of a front is looked at. */
  heapLookMs: 250,
  /** A thread that has not sent its metrics by then is left out. */
  scrapeMsMax: 1_000,
  /** One pass of the fan-out, then the loop gets a turn. */
  passRecordsMax: 256,
  /** Bytes of one write to a watcher. */
  sliceBytesMax: 256 * KiB,
  /** A slice is not made smaller than this when many watchers share a pass: one TLS record. */
  sliceBytesMin: 16 * KiB,
  /** Bytes one pass writes to all in-sync watchers together: 64 KiB each for 1,000, about 60 ms of TLS. */
  passBytesMax: 64 * MiB,
  /** Bytes one pass writes to watchers that catch up; the others wait for the next pass. */
  catchUpBytesMax: 4 * MiB,
  /** Milliseconds of a pass for them, as for pieces of long lists: single reads wait for both. */
  catchUpMsMax: 2,
  /** Objects an initial state or a list examines in one turn of the loop, a few milliseconds; each requirement counts as one more. */
  initialRecordsMax: 10_000,
  /** Requirements of a label or field selector: each costs every record of every watch (upstream has no limit). */
  selectorRequirementsMax: 1_000,
  /** Values of one `in` requirement a group is indexed under; above, its selector is evaluated for every record. */
  groupTermsMax: 16,
  /** Watches of one front, 429 beyond a user's share: 5 KiB each while idle. */
  watchersMax: 100_000,
  /**
   * Requirements and values of the selectors of one front's watches, ten more for each selector, 429 beyond a user's share:
   * 5,000 selectors cost a change that all of them look at two milliseconds. One equality is found by hash and is free.
   */
  watchTermsMax: 50_000,
  /** Watches of one front that wait for their resource version: each looks 50 times a second; 429 beyond a user's share. */
  watchWaitsMax: 1_000,
  /** Time after which a watch at a version newer than all that its store has given out ends with 410. */
  watchUnknownMs: 5_000,
  /** A watcher that takes nothing for this long is cut off. */
  watchStallMsMax: 30_000,
  /** Bytes of its log a watcher may lag behind before it is ended with 410; it holds none of them. */
  watchLagBytesMax: 128 * MiB,
  /** How often watchers that lag are looked at. */
  watchSweepMs: 500,
  /** Resolution of watch timeouts and bookmarks. */
  watchTickMs: 100,
  /** Shortest life of a watch that names none; the longest is twice this (upstream: 30 to 60 minutes). */
  watchMsMin: 1_800_000,
  /** Between the bookmarks of a watch, plus or minus a tenth (upstream: one minute). */
  bookmarkMs: 60_000,
  /** Refusals (429) a second that an owner gets at once from a front; further ones are held back for so long. */
  refusalsPerSecond: 20,
  refusalHeldMs: [500, 1_500],
  /** How many a front holds back, 2 KiB each; beyond that they are answered at once. */
  refusalsHeldMax: 4_096,
  /** Long work of a front gives others a turn of the loop after this. */
  sliceMsMax: 4,
  /** After so much of a turn no further piece of a long list is begun in it. */
  longReadsMsMax: 2,
  /** The fan-out's time in a turn instead, once it has been behind for watchBehindMs, and part of it before. */
  passMsMax: 16,
  watchBehindMs: 100,
  /** Compressed OpenAPI of custom resources a front keeps: about 5,000 definitions of 40 KB. The rest is made anew. */
  openApiBytesMax: 64 * MiB,
  /** Pieces OpenAPI is sent in; what is larger is compressed on another thread. */
  openApiChunkBytes: 256 * KiB,
  /** Answers below this are not compressed (upstream: 128 KiB). */
  gzipBytesMin: 128 * KiB,
  /**
   * The last revision before those of a new store. Small versions are made up by clients (0 and 1 mark "any" and "the
   * beginning"): they are never a position in a history, so a watch from one gets 410 and not every event since the
   * first start.
   */
  firstRevision: 100,
  /** Watchers that are behind, of which a front tells the console. */
  consoleWatchersMax: 32,
  /** Longest CPU profile of the console, seconds, and how long after one its thread may answer, milliseconds. */
  flameSecondsMax: 30,
  profileLateMs: 10_000,
  /** Longest CPU profile. */
  profileSecondsMax: 60,
  /** What a list under way is charged, read or not: at least a chunk, or an object that is larger than one. */
  listHeldBytes: MiB,
  /** Chunk a list is gathered into. */
  listChunkBytes: MiB / 4,
  /** Bytes of records in protobuf a front keeps, and 3 % more: about 12,000 pods. Lists and watches share them. */
  protoCacheBytesMax: 64 * MiB,
  /** Of them, what goes at once to make room for others, 2 ms of small ones; larger messages are not kept. */
  protoBlockBytes: MiB,
  /** Cells of rows of Tables a front keeps: of some 15,000 pods. */
  rowCacheBytesMax: 8 * MiB,
  /** Messages of what was written of late, for when their records are asked for, per log and version on each front. */
  protoWrittenMax: 64,
  /** Lengths of records in protobuf a front keeps of those it does not keep itself: about 90 bytes each. */
  protoLengthsMax: 100_000,
  /** Bytes of a protobuf list kept between measuring and writing, beyond the cache; the rest is encoded twice. */
  protoListKeptBytesMax: 16 * MiB,
  /** How long a hold may keep segments from being recycled. */
  holdMsMax: 60_000,
  /** Pause before a key a controller failed at is tried again, in milliseconds; doubled with each failure in a row. */
  reconcileRetryMsMin: 100,
  reconcileRetryMsMax: 30_000,
  /** Failed keys of one controller that are tried again per second, all together. */
  reconcileRetriesPerSecond: 100,
  /** Keys of one controller that wait, about 200 bytes each; beyond, all are looked for again when there is room. */
  reconcileKeysMax: 1_000_000,
  /** Changes of a log passed to a controller between two looks at the clock: they add keys, a microsecond each; 20 ms at most for one
   * with ten thousand owners. */
  reconcileRecordsPerLook: 8,
  /** A key that keeps failing is reported this often, in milliseconds. */
  reconcileReportMs: 60_000,
  /** Failures one controller reports at once, and per second in the long run. */
  reconcileReportsMax: 20,
  reconcileReportsPerSecond: 1,
  /** The longest timer, in milliseconds: one holds 24 days. */
  timerMsMax: 86_400_000,
  /** Objects every namespace has, written at once: one front's share of a group commit. */
  companionWritesMax: 16,
  /** Least time between two looks of the controllers at new records. */
  controllersPaceMs: 5,
  /** Duration of the controllers' lease, deadline of its renewal, pause between two tries (upstream: 15, 10, 2 s). */
  leaseMs: 15_000,
  leaseRenewMsMax: 10_000,
  leaseRetryMs: 2_000,
  /** Changes of pods are gathered this long before what their services lead to is written, in milliseconds. */
  endpointsGatherMs: 100,
  /** A service's endpoints, and its slices, are written for changes of pods at most this often, in milliseconds. */
  endpointsPauseMs: 1_000,
  /** A changed slice is looked at this much later: most changes are the controller's own (upstream: 1 s). */
  slicesSettleMs: 1_000,
  /** Services whose endpoints are written at once (upstream: 5). */
  endpointsWritesMax: 5,
  /** Pods of all services a controller holds the names of, about 20 bytes each; services beyond look through their namespace. */
  endpointsPodsHeldMax: 1_000_000,
  /**
   * How long the lease of a server stands after it was renewed, as others see it, and how often it is renewed, in
   * milliseconds (upstream: 15 and 10 s); one that stands still for longer is removed.
   */
  serverLeaseMs: 15_000,
  serverLeaseRenewMs: 10_000,
  serverLeaseGoneMs: 60_000,
  /** Servers of one store whose leases are looked at. */
  serversMax: 100,
  /** How often the server's own service and its endpoints are reconciled, in milliseconds (upstream: 10 s). */
  ownServiceLookMs: 10_000,
  /** Writes of one namespace that wait for its quotas, per front; 429 beyond a user's share. */
  quotaWaitersMax: 1_000,
  /** How long a namespace's quotas must not have been charged before they are counted anew, in milliseconds. */
  quotaQuietMs: 500,
  /** How often every quota is counted anew in any case (upstream: 5 minutes). */
  quotaRecountMs: 300_000,
  /** Decisions of the authorization webhook kept, per front; about 500 bytes each (upstream: 8192). */
  webhookDecisionsMax: 8_192,
  /** Characters, of those a client chooses, of a question whose answer is cached (upstream: 10,000). */
  webhookKeptCharsMax: 10_000,
  /** One call of it, in milliseconds (upstream: 30 s); the pause after the first one, growing by half. */
  webhookMsMax: 30_000,
  webhookRetryMs: 500,
  /** How often questions, reviews and audit events are posted to a peer that is away for a moment (upstream: 5). */
  postTriesMax: 5,
  /** Answer of a webhook or an identity provider. */
  outboundAnswerBytesMax: 3 * MiB,
  /** Pods looked at when a namespace becomes stricter, and for how long, in milliseconds (upstream: 3,000 and 1 s). */
  podSecurityPodsMax: 3_000,
  podSecurityLookMsMax: 1_000,
  /** Time and output bytes of a credential plugin. */
  execPluginMsMax: 120_000,
  execPluginBytesMax: 1 * MiB,
  /** Answers about images a front remembers (upstream: 1,024). */
  imageAnswersMax: 1_024,
  /** Peers of webhooks a front keeps connections to; the one used least lately goes. */
  webhookClientsMax: 256,
  /** One call of a conversion webhook, in milliseconds (upstream: 30 s). */
  conversionMsMax: 30_000,
  /** Objects converted in one call, and their bytes, unless one alone has more. */
  conversionObjectsMax: 500,
  conversionBytesMax: 1 * MiB,
  /** Its answer: objects that are converted may be larger than they were. */
  conversionAnswerBytesMax: 8 * MiB,
  /** What conversion webhooks made of objects is known so long, in milliseconds, and so many bytes of it, per front. */
  conversionKeptMs: 5_000,
  conversionKeptBytesMax: 64 * MiB,
  /** Conversions one step may come to need, one after the other: each version its field managers wrote at takes some. */
  conversionRoundsMax: 128,
  /** Warnings taken from one answer of a webhook. */
  webhookWarningsMax: 100,
  /** Request or answer in an audit event; larger ones are left out and the event says so. */
  auditObjectBytesMax: 3 * MiB,
  /** Audit events of one front that are not written, and their characters: beyond a user's share its requests wait or lose theirs. */
  auditEventsMax: 10_000,
  auditCharsMax: 64 * MiB,
  /** Requests of one front that wait for that, and how long, in milliseconds: refused beyond a user's share, or that time. */
  auditWaitersMax: 10_000,
  auditWaitMsMax: 60_000,
  /** Characters of audit events that wait in one backend's buffer, whatever its size in events; divided among users. */
  auditBufferCharsMax: 64 * MiB,
  /** Bytes of audit events that are written or posted as one, unless one event has more: a peer may take larger ones for too large. */
  auditWriteBytesMax: 4 * MiB,
  /** Batches of audit events that are being posted at once; the others wait in the buffer. */
  auditPostsMax: 8,
  /** One post of audit events, in milliseconds (upstream: 30 s). */
  auditPostMsMax: 30_000,
  /** Time for audit events that wait when the server ends, in milliseconds. */
  auditEndMsMax: 5_000,
  /** Connections to one peer of the server's own calls, and those kept without a call; beyond a user's share its calls wait. */
  outboundSocketsMax: 64,
  /** Calls that wait for one of them, per peer; and how long, in milliseconds: 429 beyond a user's share, or that time. */
  outboundWaitingMax: 256,
  outboundWaitMsMax: 10_000,
  outboundIdleSocketsMax: 8,
  /** Servers that requests are passed on to and a front keeps connections to; the one used least lately goes. */
  backendsMax: 256,
  /** Requests a front passes on and waits for, at all extension servers and at one; 429 beyond a user's share. */
  passedCallsMax: 2_048,
  passedCallsAtOneMax: 256,
  /** Watches and connections of other protocols a front passes on, each with two descriptors; 429 beyond a user's share. */
  passedStreamsMax: 4_096,
  /** Either of them is at most this part of the connections a front may have, among which their own are counted. */
  passedPart: 0.125,
  /** What was written to a connection of another protocol is sent within this when the other side ended, in milliseconds. */
  tunnelEndMsMax: 10_000,
  /** A message a client may send on a WebSocket of the uws front, which gathers it whole; beyond, the connection is closed. */
  socketMessageBytesMax: 1 * MiB,
  /** Bytes a client of one may be behind by before its extension server is not read, and twice that before pongs are dropped. */
  socketBehindBytesMax: 256 * KiB,
  /** Bytes a client sent there that an extension server does not take: the build cannot stop reading. Closed with 1013 beyond. */
  socketWaitingBytesMax: 8 * MiB,
  /** Steps in which they are charged. */
  socketChargeBytes: 1 * MiB,
  /** All of that on a front: reserved for each connection but what waits. 429 beyond a user's share, or 1013. */
  socketBytesMax: 512 * MiB,
  /** Messages and pings one of them may send at once, each two microseconds or three; closed with 1008 beyond. */
  socketFramesAtOnceMax: 5_000,
  /** A client of one that sends and takes nothing is sent a ping after this, and cut half a minute later, in seconds. */
  socketIdleSecondsMax: 300,
  /** How long the build waits for the end of a connection it closed, at most, in milliseconds: it does not say when. */
  socketLingerMs: 20_000,
  /** Proxies a request may have come through, by its X-Forwarded-For: more of them lead in a circle. */
  proxyHopsMax: 10,
  /**
   * Documents of extension servers a front keeps, in bytes as they were sent, and the largest: read in one turn.
   */
  remoteDocumentBytesMax: 16 * MiB,
  remoteListBytesMax: 512 * KiB,
  remoteOpenApiBytesMax: 1 * MiB,
  /** How long one may take, how many are fetched at once, and how long a request waits for all of them, in milliseconds. */
  remoteDocumentMsMax: 10_000,
  remoteDocumentFetchesMax: 8,
  remoteDocumentWaitMs: 500,
  /** Asked for again this often, and after a failure, the first time, in milliseconds. */
  remoteDocumentLookMs: 30_000,
  remoteDocumentRetryMs: 1_000,
  /**
   * What an extension server holds of a namespace that ends: objects asked for at once, bytes of their list, which is read
   * in one turn, and objects of one resource that are looked at.
   */
  remoteContentPage: 100,
  remoteContentBytesMax: 1 * MiB,
  remoteContentItemsMax: 100_000,
  /** Names of resources of extension servers that metrics tell apart; further ones are counted without a name. */
  servedNamesMax: 1_000,
  /** Changes and their bytes that a front keeps for a later message while the store has enough to do. */
  gatheredChangesMax: 250,
  gatheredBytesMax: MiB,
  /** Changes waiting for the store thread, per front; 429 beyond a user's share. */
  storeQueueMax: 10_000,
  /** Their bytes, per front; 429 beyond a user's share, which is the half of it where only one writes. */
  storeQueueBytesMax: 128 * MiB,
  /** Bytes of records the embedded store keeps; only deletes are taken beyond (upstream's store: 2 to 8 GiB). */
  storeBytesMax: 8192 * MiB,
  /** A call of a KMS plugin at most, as its timeout in the file may say, in milliseconds: changes wait for it. */
  kmsTimeoutMsMax: 60_000,
  /** Data keys of a KMS v1 plugin that are kept decrypted, at most, as cachesize may say: about 400 bytes each. */
  kmsCacheMax: 100_000,
  /** Seeds of a KMS v2 plugin that are kept decrypted: one for each start of a server, or each write of old releases. */
  kmsSeedsMax: 10_000,
  /** Calls of a KMS plugin under way at once. */
  kmsCallsMax: 32,
  /** Pauses between tries to connect to a KMS plugin, in milliseconds. */
  kmsReconnectMsMin: 500,
  kmsReconnectMsMax: 2_000,
  /** How long a start waits for a KMS plugin that does not answer, in milliseconds. */
  kmsStartMsMax: 30_000,
  /** How often KMS plugins are looked at, and when one fails (upstream: the same), in milliseconds. */
  kmsV1ProbeMs: 20_000,
  kmsV1RetryMs: 3_000,
  kmsV2ProbeMs: 60_000,
  kmsV2RetryMs: 10_000,
  /** How long a seed is used after its KMS v2 plugin was heard of last, in milliseconds (upstream: 3 minutes). */
  kmsSeedMsMax: 180_000,
  /** Characters of what a KMS plugin says of a failure. */
  kmsFailureCharsMax: 200,
  /** Changes of one transaction; the rest waits for the next one. */
  commitChangesMax: 1_000,
  /** How often the store looks for records older than historyMsMin. */
  compactionMs: 1_000,
  /** Records one step of compaction removes or, of those from before a start, looks at: one to two milliseconds. */
  compactRecordsMax: 256,
  /** Bytes of one transaction. */
  commitBytesMax: 16 * MiB,
} as const;

assert(limits.recentMsMax < limits.requestMsMax, "A request lives to tell that the store did not answer");
assert(
  limits.pastListBytesMax <= limits.pastBytesMax / 4 && limits.objectBytesMax <= limits.pastListBytesMax,
  "A list of the past fits its user's share, and an object fits a list",
);
assert(limits.objectBytesMax <= limits.bodyBytesMax, "A stored object must fit in a request body");
assert(
  limits.collectionDeletesMax * limits.objectBytesMax <= limits.storeQueueBytesMax / 2,
  "A collection of large objects can be deleted by a user who is alone",
);
assert(limits.patchCopyBytesMax <= limits.bodyBytesMax, "A patch must not copy more than a body holds");
assert(
  limits.conversionBytesMax <= limits.conversionAnswerBytesMax &&
    limits.conversionAnswerBytesMax <= limits.conversionKeptBytesMax,
  "What a conversion webhook answers must be large enough for what it was sent, and find room",
);
assert(limits.sliceBytesMin <= limits.sliceBytesMax, "The smallest slice must not exceed the largest");
assert(limits.sliceBytesMax <= limits.catchUpBytesMax, "A pass must be able to serve a watcher that lags");
assert(limits.watchTickMs <= limits.watchSweepMs, "A sweep happens on a tick");
assert(limits.watchersMax <= limits.watchingPart * limits.connectionsMax, "Watches leave room for other connections");
// Users fill three quarters of a shared bound (base/shares.ts).
const usersPart = 0.75 * (limits.watchingPart + limits.arrivingPart);
assert(usersPart + limits.quietPart < 1, "Connections of users, however busy, leave room for those that come");
assert(limits.quietPart <= 1 - limits.crowdedPart, "Idle connections leave room for those that come");
