export { type HttpServer, startHttp } from './http.ts'
export { metricDefinitions, metricsText } from './metrics.ts'
