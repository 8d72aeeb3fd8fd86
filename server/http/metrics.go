package http

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// metrics are this room's own. None names a user or a task.
type metrics struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	streams  prometheus.Gauge
	frames   *prometheus.CounterVec
	uploaded prometheus.Counter
}

func newMetrics(registry *prometheus.Registry) metrics {
	m := metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "easeml_http_requests_total", Help: "Requests answered, by route and status.",
		}, []string{"route", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "easeml_http_request_seconds", Help: "Time to answer a request, streams left out.",
			Buckets: prometheus.ExponentialBuckets(0.001, 4, 8),
		}, []string{"route"}),
		streams: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "easeml_http_streams", Help: "Event streams that are open.",
		}),
		frames: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "easeml_http_frames_total", Help: "Frames sent on event streams, by kind.",
		}, []string{"kind"}),
		uploaded: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "easeml_http_uploaded_bytes_total", Help: "Bytes of uploads taken in.",
		}),
	}
	registry.MustRegister(m.requests, m.seconds, m.streams, m.frames, m.uploaded)
	for _, c := range []prometheus.Collector{
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	} {
		_ = registry.Register(c) // whoever gave the registry may have them there already
	}
	return m
}

func (m metrics) answered(route string, status int, took time.Duration) {
	m.requests.WithLabelValues(route, strconv.Itoa(status)).Inc()
	m.seconds.WithLabelValues(route).Observe(took.Seconds())
}
